// Visual tokens -> words: a Transformer decoder (Vaswani et al. 2017, post-norm) with cross-attention over the picture's cells.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "modules/attention/cross_attention.h"

namespace gaze::models {

struct CaptionDecoderOptions {
  int64_t vocabulary = 0;      // V
  int64_t visual_width = 1000; // channels of a cell: classes for evidence, the last stage's channels for features
  bool class_evidence = true;  // cells are class logits (softmax over classes, then a linear) rather than features
  int64_t width = 256;         // D
  int64_t heads = 8;           // N
  int64_t layers = 2;
  int64_t feed_forward = 1024;
  int64_t max_tokens = 32;     // longest caption, end token included
  double dropout = 0.1;
};
nlohmann::json to_json(const CaptionDecoderOptions& options);
CaptionDecoderOptions caption_decoder_options_from_json(const nlohmann::json& json);  // throws ArgumentError

// What one decoding step sees: keys and values of the picture, projected once, and of the words so far. Rows are hypotheses.
struct DecoderState {
  std::vector<torch::Tensor> memory_keys, memory_values;  // a layer: [B, N, S, D/N]
  std::vector<torch::Tensor> keys, values;                // a layer: [B, N, T, D/N], grown by step()
  int64_t length = 0;                                     // T

  // Row i becomes what row `rows[i]` was; `same_picture` leaves the memory of the picture alone where rows share it.
  void reorder(const torch::Tensor& rows);
};

struct DecoderStep {
  torch::Tensor log_probabilities;  // [B, V], float32
  torch::Tensor map;                // [B, N, S], cross-attention of the last layer; each [S] sums to 1
};

class CaptionDecoderImpl : public torch::nn::Module {
 public:
  explicit CaptionDecoderImpl(const CaptionDecoderOptions& options);

  // visual [B, visual_width, h, w] (class logits or features) -> visual tokens [B, h*w, D]: softmax over classes (evidence only),
  // linear without bias (initial deviation 0.5 for evidence), LayerNorm, plus 2-D sinusoidal cell positions; row-major cells.
  torch::Tensor embed_picture(const torch::Tensor& visual);

  // Teacher forcing. tokens [B, T] int64 (start token first), memory [B, S, D] -> logits [B, T, V] of the next tokens.
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& memory);

  DecoderState begin(const torch::Tensor& memory);
  // tokens [B]: the word each row emitted last (the start token first).
  DecoderStep step(DecoderState& state, const torch::Tensor& tokens);

  const CaptionDecoderOptions& options() const;
};
TORCH_MODULE(CaptionDecoder);

}  // namespace gaze::models
