// Multi-head attention over tokens (Vaswani et al. 2017), in the form of PyTorch's nn.MultiheadAttention.
#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "modules/attention/positions.h"
#include "modules/attention/token_cache.h"
#include "modules/ops/attend/attend.h"

namespace gaze {

struct MultiHeadAttentionOptions {
  int64_t query_width = 0;  // width of the tokens that look, and of the output
  int64_t key_width = 0;    // width of the tokens that are looked at; 0: query_width
  int64_t value_width = 0;  // width of what is taken from them; 0: key_width
  int64_t heads = 8;        // N, divides width
  int64_t width = 0;        // D, inside; 0: query_width
  bool bias = true;         // of all four projections
  double dropout = 0;       // of the weights, in training
  bool causal = false;      // query t sees keys s <= t + S - T: a decoder over its own words, cached or not
  int64_t relative = 0;     // L, a learned bias a head for each distance below it, the rest as L - 1; 0: none
  bool relative_inside = false;  // the bias is added to q·k before the scaling
  int64_t grid_relative = 0;     // L of GridDistances, for forward_on_grid; 0: none
};

// Who may look where. A tensor alone is `pairs`.
struct AttentionMask {
  AttentionMask(torch::Tensor pairs = {}, torch::Tensor key_padding = {})  // NOLINT: reads as its tensor
      : pairs(std::move(pairs)), key_padding(std::move(key_padding)) {}

  torch::Tensor pairs;        // broadcastable to [B, N, T, S]: bool, true where a query may look (PyTorch's
                              // attn_mask is the other way round); or floating, added to the scores
  torch::Tensor key_padding;  // [B, S], bool, true where a key is padding that nobody may look at
};

using AttentionWeights = ops::AttendWeights;  // none, per_head [B, N, T, S], head_mean [B, T, S]

struct AttendedTokens {
  torch::Tensor output;   // [B, T, query_width]
  torch::Tensor weights;  // float32 (float64 for float64 inputs), before dropout; undefined unless asked for
};

// output = W_out · concat over heads of attend(W_q · query, W_k · key, W_v · value); scale 1/√(D/N).
//
//   query [B, T, query_width], key [B, S, key_width], value [B, S, value_width]
//   mask  as above, and causal as the options have it
//
// A query that may look nowhere gets the bias of `out`. Throws ArgumentError for shapes that do not fit.
// Heads narrower than 32 are warned about once (TORCH_WARN_ONCE): kernels are made for wider ones, and scores
// of few numbers tell few keys apart.
//
// State keys: query, key, value, out, each .weight and .bias; with relative positions `relative` [N, 2L-1],
// ops::AttendOptions's; with grid_relative `grid`.{row, column} of GridDistances. Query, key and value start
// Xavier-uniform, each by itself; all biases at 0.
//
// Maps: [B, T, S], the mean over heads: "self" where query and key are one tensor, else "cross".
class MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  // `called` is the name in error texts.
  explicit MultiHeadAttentionImpl(const MultiHeadAttentionOptions& options,
                                  std::string called = "multi_head_attention");

  AttendedTokens forward(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                         const AttentionMask& mask = {}, AttentionWeights weights = AttentionWeights::none);

  // Self-attention of tokens [B, rows·columns, query_width] that lie on a grid, row by row; what
  // grid_relative is for, which the other ways leave out.
  AttendedTokens forward_on_grid(const torch::Tensor& tokens, int64_t rows, int64_t columns,
                                 const AttentionMask& mask = {},
                                 AttentionWeights weights = AttentionWeights::none);

  // The two halves of forward, for a decoder that looks at one memory many times. Keys and values of several
  // calls may be joined along S (a cache). Row i of query looks at row i of keys and values. The map is
  // "cross".
  ProjectedMemory project(const torch::Tensor& key, const torch::Tensor& value);
  AttendedTokens attend_projected(const torch::Tensor& query, const torch::Tensor& keys,
                                  const torch::Tensor& values, const AttentionMask& mask = {},
                                  AttentionWeights weights = AttentionWeights::none);

  // Self-attention of the next token of R sequences, for a decoder over its own words: its key and value join
  // those of the tokens before it. query [R, 1, query_width], of which its key is made too, value
  // [R, 1, value_width]. No gradient flows to the cache. The map is "self".
  AttendedTokens attend_next(const torch::Tensor& query, const torch::Tensor& value, TokenCache& tokens);
  TokenCache no_tokens(int64_t rows) const;  // before the first

  void reset_parameters();
  void zero_output();  // sets `out` to 0: every output is 0 until training moves it
  void pretty_print(std::ostream& stream) const override;

  // Multiply-accumulates for one sample: projections and both matrix products.
  int64_t macs(int64_t queries, int64_t keys) const;

  const MultiHeadAttentionOptions& options() const { return options_; }  // widths filled in

 private:
  torch::Tensor split_heads(const torch::Tensor& tokens) const;
  // q [B, N, T, D/N]
  AttendedTokens attend(const torch::Tensor& q, const ProjectedMemory& memory, const AttentionMask& mask,
                        AttentionWeights weights, const char* map, const GridBiases& grid = {});

  std::string called_;
  MultiHeadAttentionOptions options_;
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr}, out_{nullptr};
  torch::Tensor relative_;  // undefined without relative positions
  GridDistances grid_{nullptr};
};
TORCH_MODULE(MultiHeadAttention);

// The state of PyTorch's nn.MultiheadAttention under the keys above. `theirs` holds in_proj_weight [3E, E],
// or q_proj_weight, k_proj_weight and v_proj_weight where the widths differ; in_proj_bias [3E] and
// out_proj.bias, or neither; out_proj.weight. Throws ArgumentError naming a tensor that is missing, or has no
// place here (bias_k, bias_v).
std::map<std::string, torch::Tensor> from_torch_multihead(const std::map<std::string, torch::Tensor>& theirs);

}  // namespace gaze
