// One layer of the caption decoder: causal self-attention over the words, cross-attention over the picture,
// feed-forward.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>

#include "modules/attention/cross_attention.h"

namespace gaze::models {

// What a layer keeps between two words. R = B * beam rows, a picture's rows beside each other.
struct LayerState {
  ProjectedMemory picture;  // of the B pictures
  ProjectedMemory words;    // of the words so far: [R, N, T, D/N]
};

struct LayerStep {
  torch::Tensor x;    // [R, 1, D]
  torch::Tensor map;  // [R, N, S]; undefined unless asked for
};

// Vaswani et al. 2017, post-norm, GELU in the feed-forward:
//   x = LayerNorm(x + self(x)); x = LayerNorm(x + cross(x, memory)); x = LayerNorm(x + W2 gelu(W1 x))
// In training, dropout acts on each of the three branches before its sum.
// State keys: self.*, cross.* (CrossAttention's), expand.*, shrink.* (the feed-forward), self_norm.*,
// cross_norm.*, feed_norm.*
class DecoderLayerImpl : public torch::nn::Module {
 public:
  DecoderLayerImpl(int64_t width, int64_t heads, int64_t feed_forward, double dropout);

  // Sets the cross-attention's value and output projections to the identity: what is looked at is passed on
  // as it is.
  void start_copying();

  // x [B, T, D], memory [B, S, D] -> [B, T, D]; position t sees 0..t.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& memory);

  // The state before the first word of `rows` hypotheses about memory [B, S, D]'s pictures.
  LayerState begin(const torch::Tensor& memory, int64_t rows);

  // x [R, 1, D], the next word's; its keys and values join the state.
  LayerStep step(const torch::Tensor& x, LayerState& state, bool with_map);

 private:
  torch::Tensor after_self(const torch::Tensor& x, const torch::Tensor& heard);
  torch::Tensor after_cross(const torch::Tensor& x, const torch::Tensor& seen);

  CrossAttention self_{nullptr}, cross_{nullptr};
  torch::nn::Linear expand_{nullptr}, shrink_{nullptr};
  torch::nn::LayerNorm self_norm_{nullptr}, cross_norm_{nullptr}, feed_norm_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};
TORCH_MODULE(DecoderLayer);

}  // namespace gaze::models
