// What a Transformer decoder keeps between two words.
#pragma once

#include <cstdint>
#include <vector>

#include "modules/attention/transformer.h"

namespace gaze::models {

// Keys and values of the pictures, projected once, and of the words so far. Each picture has `beam`
// hypotheses; its hypotheses share its keys and values. Row b * beam + i is hypothesis i of picture b:
// R = B * beam.
struct DecoderState {
  std::vector<LayerState> layers;
  int64_t beam = 1;
  int64_t length = 0;  // T, words so far

  int64_t pictures() const { return layers.front().memory.keys.size(0); }  // B
  int64_t rows() const { return layers.front().tokens.rows(); }            // R

  // As StepDecoder has it; rows that stay are not touched, nor pictures where all do.
  void reorder(const torch::Tensor& rows);
};

}  // namespace gaze::models
