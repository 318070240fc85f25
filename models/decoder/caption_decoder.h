// Visual tokens -> words: a Transformer decoder (Vaswani et al. 2017, post-norm) with cross-attention over
// the picture's cells.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "models/decoder/decoder_state.h"
#include "models/decoder/evidence_decoder.h"
#include "modules/attention/transformer.h"

namespace gaze::models {

struct CaptionDecoderOptions : ClassGroups {  // groups: of class evidence only
  int64_t vocabulary = 0;                     // V
  int64_t visual_width = 1000;                // channels of a cell: K classes, or the last stage's channels
  bool class_evidence = true;                 // cells are class logits (softmax, then a linear), not features
  bool copy = false;            // cross-attention starts by passing values on; matters at creation only
  int64_t width = 256;          // D, a multiple of 4 and of `heads`
  int64_t heads = 8;            // N
  int64_t layers = 2;           // at least 1
  int64_t feed_forward = 1024;  // hidden width
  int64_t max_tokens = 32;      // longest caption, end token included
  double dropout = 0.1;         // in training
  bool tie = false;             // the output projection is the word embedding's transpose, with its own bias
};
nlohmann::json to_json(const CaptionDecoderOptions& options);
// Keys that are missing keep their defaults, except `vocabulary`. Throws ArgumentError naming a wrong or
// unknown key.
CaptionDecoderOptions caption_decoder_options_from_json(const nlohmann::json& json);

class CaptionDecoderImpl : public EvidenceDecoder {
 public:
  // Throws ArgumentError for sizes below 1, and for a width that the heads or the positions cannot share.
  explicit CaptionDecoderImpl(const CaptionDecoderOptions& options);

  // visual [B, K, h, w], K = visual_width -> visual tokens [B, h*w, D], row-major cells, any h and w:
  //   evidence: LayerNorm(P g) + grid_positions, where g [G] are EvidenceDecoder's; P has no bias, its
  //             columns are learned (initial deviation 0.5) or, with group_words, the embeddings of the
  //             groups' words;
  //   features: LayerNorm(P x) + grid_positions, x the cell's K features.
  // Throws ArgumentError for another shape.
  torch::Tensor embed_picture(const torch::Tensor& visual);

  // cells [B, h*w, G] (probabilities) or [B, h*w, visual_width] (features) -> visual tokens [B, h*w, D].
  torch::Tensor embed_cells(const torch::Tensor& cells, int64_t rows, int64_t cols) override;

  // G, or the features' width: what embed_cells() expects.
  int64_t cell_width() const { return group_count(); }

  VisualInput visual_input() const override {
    return options_.class_evidence ? VisualInput::class_evidence : VisualInput::features;
  }
  int64_t visual_width() const override { return options_.visual_width; }
  int64_t vocabulary() const override { return options_.vocabulary; }
  int64_t max_tokens() const override { return options_.max_tokens; }
  PictureTokens look_at(const torch::Tensor& visual) override;
  ForcedWords force(const torch::Tensor& tokens, const torch::Tensor& memory) override;

  // memory [B, S, D]: a state with `beam` hypotheses a picture, before the first word.
  DecoderState begin(const torch::Tensor& memory, int64_t beam = 1);

  // tokens [R] int64: the word each row emitted last (the start token first). The same numbers as forward()'s
  // last position.
  DecoderStep step(DecoderState& state, const torch::Tensor& tokens);

  std::unique_ptr<StepDecoder> start(const torch::Tensor& memory, int64_t beam) override;
  nlohmann::json describe() const override;

  const CaptionDecoderOptions& options() const { return options_; }

 private:
  torch::Tensor embed_words(const torch::Tensor& tokens, int64_t first);
  torch::Tensor logits(const torch::Tensor& x);

  CaptionDecoderOptions options_;
  torch::nn::Linear visual_{nullptr};
  torch::nn::LayerNorm visual_norm_{nullptr};
  torch::nn::Embedding embedding_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  std::vector<TransformerDecoderLayer> layers_;
  torch::nn::Linear output_{nullptr};  // empty when tied
  torch::Tensor output_bias_;          // only when tied
};
TORCH_MODULE(CaptionDecoder);

}  // namespace gaze::models
