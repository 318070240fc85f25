// The files of one picture's overlay.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/captioner/captioner.h"
#include "models/explain/caption_maps.h"
#include "models/overlay/overlay.h"

namespace gaze::apps {

struct OverlayStyle {
  models::DrawOptions draw;
  int64_t tile = 320;
  bool legend = true;
};

// What is said of one picture, and what speaks for each word.
struct ExplainedPicture {
  models::CaptionedImage result;
  std::vector<std::vector<models::CaptionMaps>> maps;  // of each caption, a method each
};

models::Grid grid_of(const at::Tensor& map);  // [rows, cols]

// What is the same for every picture of a run.
struct OverlayRun {
  std::filesystem::path model_file;
  std::string model_sha256;
  OverlayStyle style;
  bool words = true;       // strip and words' maps
  bool gates = false;      // maps of the backbone's blocks
  bool drawings = true;    // PNG
  bool raw = true;         // .npy
  bool report = false;     // report.html
  nlohmann::json options;  // for the manifest; the style is added to it
};

// Writes strip.png, word__03_dog.png, gradcam__03_dog.png, layer3.5.attn.0__spatial.png, the raw maps as
// .npy, and manifest.json last. Where a file cannot be written, the picture's others are removed and
// FileError is thrown.
void write_overlay(const std::filesystem::path& folder, const std::string& picture_file,
                   const models::Image& picture, const ExplainedPicture& explained, const OverlayRun& run);

}  // namespace gaze::apps
