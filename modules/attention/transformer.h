// The layers of a Transformer (Vaswani et al. 2017), post-norm or pre-norm (Xiong et al. 2020).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <map>
#include <string>

#include "modules/attention/cross_attention.h"

namespace gaze {

enum class Activation { relu, gelu };

struct TransformerLayerOptions {
  int64_t width = 0;                         // D
  int64_t heads = 8;                         // N, divides width
  int64_t feed_forward = 0;                  // width of the hidden layer; 0: 4 D
  double dropout = 0.1;                      // in training, of each branch before its sum
  double weight_dropout = 0;                 // in training, of the attention weights
  bool norm_first = false;                   // pre-norm: x + f(LayerNorm(x)), else LayerNorm(x + f(x))
  Activation activation = Activation::relu;  // of the feed-forward
};

// Codes of places that are added to what queries and keys are made of, not to what values are, in each layer
// anew (Carion et al. 2020, DETR).
struct LayerPositions {
  torch::Tensor tokens;  // broadcastable to x; undefined: none
  torch::Tensor memory;  // broadcastable to the memory, of its keys; undefined: none
};

namespace detail {

// What both layers are made of: branches around the tokens, each with its norm and its dropout.
class TransformerLayer : public torch::nn::Module {
 public:
  const TransformerLayerOptions& options() const { return options_; }  // filled in

 protected:
  // Throws ArgumentError in the name of `called`.
  TransformerLayer(const TransformerLayerOptions& options, const char* called);

  CrossAttention add_attention(const char* name, bool causal);
  torch::nn::LayerNorm add_norm(const char* name);
  void add_feed_forward();

  // The sum of x and a branch of it, normed before or after as the options say.
  template <typename Branch>
  torch::Tensor with(const torch::Tensor& x, torch::nn::LayerNorm& norm, const Branch& branch) {
    if (options_.norm_first) return x + dropout_(branch(norm(x)));
    return norm(x + dropout_(branch(x)));
  }
  torch::Tensor feed_forward(const torch::Tensor& x);

  const char* called_;
  TransformerLayerOptions options_;

 private:
  torch::nn::Linear expand_{nullptr}, shrink_{nullptr};
  torch::nn::LayerNorm feed_norm_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};

}  // namespace detail

// Self-attention, then a feed-forward layer W2 act(W1 x + b1) + b2, each a branch around its input.
// State keys: self.* (MultiHeadAttention's), expand.*, shrink.* (the feed-forward), self_norm.*, feed_norm.*.
class TransformerEncoderLayerImpl : public detail::TransformerLayer {
 public:
  explicit TransformerEncoderLayerImpl(const TransformerLayerOptions& options);

  // x [B, T, D] -> output [B, T, D] and the weights asked for. `positions` are LayerPositions' of the tokens.
  AttendedTokens forward(const torch::Tensor& x, const AttentionMask& mask = {},
                         AttentionWeights weights = AttentionWeights::none,
                         const torch::Tensor& positions = {});

  void pretty_print(std::ostream& stream) const override;

 private:
  CrossAttention self_{nullptr};
  torch::nn::LayerNorm self_norm_{nullptr};
};
TORCH_MODULE(TransformerEncoderLayer);

// What a decoder layer keeps between two tokens. R = B * beam rows, those of one memory beside each other.
struct LayerState {
  ProjectedMemory memory;  // of the B memories
  TokenCache tokens;       // of the R rows
};

struct LayerStep {
  torch::Tensor x;    // [R, 1, D]
  torch::Tensor map;  // [R, N, S]; undefined unless asked for
};

// Causal self-attention over the tokens, cross-attention over a memory, feed-forward.
// State keys: self.*, cross.* (MultiHeadAttention's), expand.*, shrink.* (the feed-forward), self_norm.*,
// cross_norm.*, feed_norm.*
class TransformerDecoderLayerImpl : public detail::TransformerLayer {
 public:
  explicit TransformerDecoderLayerImpl(const TransformerLayerOptions& options);

  // Sets the cross-attention's value and output projections to the identity: what is looked at is passed on
  // as it is.
  void start_copying();

  // x [B, T, D], memory [B, S, D] -> [B, T, D] and the cross-attention's weights; token t sees 0..t. The mask
  // is the memory's.
  AttendedTokens forward(const torch::Tensor& x, const torch::Tensor& memory, const AttentionMask& mask = {},
                         AttentionWeights weights = AttentionWeights::none,
                         const LayerPositions& positions = {});

  // The state before the first token of `rows` hypotheses about memory [B, S, D], whose positions are
  // LayerPositions'.
  LayerState begin(const torch::Tensor& memory, int64_t rows, const torch::Tensor& memory_positions = {});

  // x [R, 1, D], the next token's; its keys and values join the state. The same numbers as forward()'s last
  // token, without a gradient. memory_padding [B, S], bool, true where nobody may look; `position` is
  // LayerPositions' of this token, [D].
  LayerStep step(const torch::Tensor& x, LayerState& state, bool with_map,
                 const torch::Tensor& memory_padding = {}, const torch::Tensor& position = {});

  void pretty_print(std::ostream& stream) const override;

 private:
  CrossAttention self_{nullptr}, cross_{nullptr};
  torch::nn::LayerNorm self_norm_{nullptr}, cross_norm_{nullptr};
};
TORCH_MODULE(TransformerDecoderLayer);

// The state of PyTorch's nn.TransformerEncoderLayer or nn.TransformerDecoderLayer under the keys above.
// Throws ArgumentError naming a tensor that is missing or has no place here.
std::map<std::string, torch::Tensor> from_torch_transformer_layer(
    const std::map<std::string, torch::Tensor>& theirs);

}  // namespace gaze
