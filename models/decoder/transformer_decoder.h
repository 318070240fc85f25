// Visual tokens -> words: the Transformer as it is published for captions, post-norm or pre-norm, with or
// without an encoder over the grid.
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
#include "models/decoder/word_decoder.h"
#include "modules/attention/positions.h"
#include "modules/attention/transformer.h"

namespace gaze::models {

enum class WordPositions {
  sinusoidal,  // sinusoidal_positions()
  learned,     // a vector for each of max_tokens places
};

enum class WordHead {
  linear,
  tied,  // the embedding's transpose, with a bias of its own
  mlp,   // two hidden layers of head_width with ReLU, then linear
};

struct TransformerDecoderOptions {
  int64_t vocabulary = 0;       // V
  int64_t visual_width = 512;   // K, channels of a cell
  bool class_evidence = false;  // cells are the probabilities of the network's classes, not its features
  bool visual_norm = false;     // LayerNorm of the projected cells
  int64_t width = 512;          // D, a multiple of 4 and of `heads`
  int64_t heads = 8;            // N
  int64_t feed_forward = 2048;  // hidden width
  int64_t encoder_layers = 0;   // over the cells
  int64_t decoder_layers = 6;   // at least 1
  bool norm_first = false;      // of every layer
  bool final_norm = false;      // LayerNorm behind the last decoder layer, and the last encoder layer
  Activation activation = Activation::relu;
  WordPositions positions = WordPositions::sinusoidal;
  // Positions are added in every layer, as LayerPositions has it; those of words at the input too, those of
  // cells not. Else both at the input alone.
  bool layer_positions = false;
  bool scale_embedding = false;  // words times sqrt(D), as Vaswani et al. have them
  bool embedding_norm = false;   // LayerNorm of word + position
  double embedding_norm_eps = 1e-12;
  WordHead head = WordHead::linear;
  int64_t head_width = 512;  // of WordHead::mlp
  int64_t max_tokens = 64;   // longest caption, end token included
  double dropout = 0.1;      // in training
};
nlohmann::json to_json(const TransformerDecoderOptions& options);
// Keys that are missing keep their defaults, except `vocabulary`. Throws ArgumentError naming a wrong or
// unknown key.
TransformerDecoderOptions transformer_decoder_options_from_json(const nlohmann::json& json);

// Cells are projected to D, normed where the options say, given grid_sinusoidal_positions(), and encoded.
// Words are embedded, scaled, given their positions, normed; decoder layers; the head.
//
// The memory is [B, S, D]; with layer_positions [B, S, 2 D], the cells' positions beside them.
//
// Vaswani et al. 2017: scale_embedding. GPT-2's decoder with cross-attention: norm_first, final_norm, gelu,
// learned positions, tied. CATR: width 256, 6 encoder layers, norm_first, final_norm, learned positions,
// layer_positions, embedding_norm, mlp, 128 tokens.
//
// State keys: visual.* [D, K], visual_norm.*, encoder.N.* (TransformerEncoderLayer), encoder_norm.*;
// embedding.weight [V, D], positions.weight [max_tokens, D], embedding_norm.*, layers.N.*
// (TransformerDecoderLayer), norm.*; hidden.0.*, hidden.1.*, output.* or, tied, output_bias [V].
class TransformerDecoderImpl : public WordDecoder {
 public:
  // Throws ArgumentError for sizes below 1, and for a width that the heads or the positions cannot share.
  explicit TransformerDecoderImpl(const TransformerDecoderOptions& options);

  VisualInput visual_input() const override {
    return options_.class_evidence ? VisualInput::class_evidence : VisualInput::features;
  }
  int64_t visual_width() const override { return options_.visual_width; }
  int64_t vocabulary() const override { return options_.vocabulary; }
  int64_t max_tokens() const override { return options_.max_tokens; }
  PictureTokens look_at(const torch::Tensor& visual) override;
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& memory) override;
  std::unique_ptr<StepDecoder> start(const torch::Tensor& memory, int64_t beam) override;
  nlohmann::json describe() const override;

  const TransformerDecoderOptions& options() const { return options_; }

 private:
  friend class TransformerSteps;
  struct Memory {
    torch::Tensor cells;      // [B, S, D]
    torch::Tensor positions;  // [B, S, D], or undefined
  };

  Memory split(const torch::Tensor& memory) const;
  torch::Tensor places(int64_t first, int64_t length) const;                      // [T, D]
  torch::Tensor embed(const torch::Tensor& tokens, const torch::Tensor& places);  // [..., D]
  torch::Tensor logits(const torch::Tensor& x);                                   // [..., V]

  TransformerDecoderOptions options_;
  torch::nn::Linear visual_{nullptr};
  torch::nn::LayerNorm visual_norm_{nullptr}, encoder_norm_{nullptr}, embedding_norm_{nullptr},
      norm_{nullptr};
  std::vector<TransformerEncoderLayer> encoder_;
  torch::nn::Embedding embedding_{nullptr};
  LearnedPositions learned_{nullptr};
  torch::Tensor sinusoidal_;  // [max_tokens, D]; undefined where learned
  torch::nn::Dropout dropout_{nullptr};
  std::vector<TransformerDecoderLayer> layers_;
  std::vector<torch::nn::Linear> hidden_;  // of WordHead::mlp
  torch::nn::Linear output_{nullptr};      // null when tied
  torch::Tensor output_bias_;              // only when tied
};
TORCH_MODULE(TransformerDecoder);

}  // namespace gaze::models
