// Picture -> caption: backbone, decoder and vocabulary of one model file, joined.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"
#include "models/checkpoint/model_file.h"
#include "models/decoder/search.h"
#include "models/decoder/vocabulary.h"
#include "models/image/preprocess.h"
#include "modules/core/attention_map.h"

namespace gaze::models {

struct CaptionWord {
  std::string text;
  double log_probability = 0;
  torch::Tensor map;  // [rows, cols] float32, sums to 1: mean over heads of the last layer
};

struct Caption {
  std::string text;
  double log_probability = 0;  // includes the end token
  double score = 0;
  bool finished = false;
  std::vector<int64_t> tokens;
  std::vector<CaptionWord> words;
};

// Which classes a cell's evidence spoke for: the map says where a word looked, this says what stood there.
struct CellEvidence {
  int64_t rows = 0, cols = 0;
  torch::Tensor probabilities;  // [rows * cols, K], softmax of each cell's class logits; undefined without class evidence
};

struct CaptionedImage {
  Geometry geometry;
  int64_t rows = 0, cols = 0;       // of the words' maps
  std::vector<Caption> captions;    // best first
  std::vector<AttentionMap> maps;   // of the backbone's blocks, when asked for; [1, ...]
  CellEvidence evidence;
};

class Captioner {
 public:
  // Throws FileError or ArgumentError that says which part of the model file differs.
  explicit Captioner(const ModelFile& model);

  // Replaces the backbone by the person's own network with the same classes (class-evidence decoders only).
  void use_backbone(std::shared_ptr<Backbone> backbone);

  // Captions a batch in one pass; results in the order of `images`. `record_maps` also keeps the maps of the backbone's blocks.
  std::vector<CaptionedImage> caption(const std::vector<Image>& images, const SearchOptions& options, bool record_maps = false);

  Backbone& backbone() { return *backbone_; }
  CaptionDecoder& decoder() { return decoder_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const Preprocessing& preprocessing() const { return preprocessing_; }

 private:
  std::shared_ptr<Backbone> backbone_;
  CaptionDecoder decoder_{nullptr};
  Vocabulary vocabulary_;
  Preprocessing preprocessing_;
};

// {"image", "width", "height", "captions": [{"text", "log_probability", "score", "finished", "tokens", "words": [{"text",
// "log_probability", "map": {"rows", "cols", "values", "to_image"}}]}]}
nlohmann::json to_json(const std::string& image, const CaptionedImage& result);

}  // namespace gaze::models
