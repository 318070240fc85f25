// What is known of a captioned picture: words, their probabilities, where they looked and what stood there.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/image/geometry.h"
#include "modules/core/attention_map.h"

namespace gaze::models {

// A class that the cells under a word's map spoke for.
struct WordEvidence {
  std::string label;
  double weight = 0;  // sum over cells of the word's map times the class's probability in that cell
};

struct CaptionWord {
  std::string text;
  double log_probability = 0;
  at::Tensor map;                      // [rows, cols] float32, sums to 1: mean over heads of the last layer
  at::Tensor head_maps;                // [N, rows, cols] float32, each head's
  std::vector<WordEvidence> evidence;  // the three heaviest classes; empty without class evidence
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
  at::Tensor probabilities;  // [rows * cols, K], softmax of each cell's class logits; undefined without
                             // class evidence
};

struct CaptionedImage {
  Geometry geometry;
  int64_t rows = 0, cols = 0;      // of the words' maps
  std::vector<Caption> captions;   // best first
  std::vector<AttentionMap> maps;  // of the backbone's blocks, when asked for; [1, ...]
  CellEvidence evidence;
};

// {"image", "width", "height", "captions": [{"text", "log_probability", "score", "finished", "tokens",
// "words": [{"text", "log_probability", "map": {"rows", "cols", "values", "to_image"}, "evidence": [{"label",
// "weight"}]}]}]} "evidence" is absent without class evidence.
nlohmann::json to_json(const std::string& image, const CaptionedImage& result);

}  // namespace gaze::models
