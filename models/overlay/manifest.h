// manifest.json: what an overlay's files are. It is written last: where it is, all of them are.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/image/geometry.h"
#include "models/overlay/map_summary.h"

namespace gaze::models {

struct ManifestMap {
  std::string name;  // "word/03_dog"
  std::string kind;  // "word", "spatial", "channel"
  int64_t rows = 0, cols = 0;
  std::string file;  // the drawn picture; empty where there is none
  std::string raw;   // the .npy
  MapSummary summary;
};

struct Manifest {
  std::string version;  // of gaze
  std::filesystem::path model_file;
  std::string model_sha256;
  std::string image_file;
  int exif_orientation = 1;
  Geometry geometry;
  std::vector<ManifestMap> maps;
  nlohmann::json caption;  // {text, log_probability, ...}
  nlohmann::json options;
};

// {gaze, model: {file, sha256}, image: {file, width, height, exif}, to_image, seen: [x, y, w, h], maps:
// [{name, kind, rows, cols, file, raw, min, max, entropy, peak_lift, against, state, to_image}], caption,
// options}. The outer `to_image` goes from the model's input to the picture, a map's from its cells. Numbers
// that are not finite are null.
nlohmann::json to_json(const Manifest& manifest);

}  // namespace gaze::models
