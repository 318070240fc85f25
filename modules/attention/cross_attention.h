// Multi-head attention of one set of tokens over another; of a set over itself when memory = query.
#pragma once

#include <torch/nn/modules/linear.h>

#include <cstdint>

namespace gaze {

struct CrossAttentionOptions {
  int64_t query_width = 0;   // width of the tokens that look, and of the output
  int64_t memory_width = 0;  // M, width of the tokens that are looked at; 0: query_width
  int64_t heads = 8;         // N, divides width
  int64_t width = 0;         // D, inside; 0: query_width
  bool bias = true;          // of all four projections
  double dropout = 0;        // of the weights, in training
  bool causal = false;       // query t sees keys s <= t + S - T: a decoder over its own words, cached or not
};

// Which weights to return.
enum class AttentionWeights {
  none,
  per_head,   // [B, N, T, S]
  head_mean,  // [B, T, S]
};

struct CrossAttended {
  torch::Tensor output;   // [B, T, query_width]
  torch::Tensor weights;  // float32 (float64 for float64 inputs), before dropout; undefined unless asked for
};

// A memory made ready for any number of queries.
struct ProjectedMemory {
  torch::Tensor keys;    // [B, N, S, D/N]
  torch::Tensor values;  // [B, N, S, D/N]
};

// output = W_out · concat over heads of attend(W_q · query, W_k · memory, W_v · memory); scale 1/√(D/N).
//
//   query [B, T, query_width], memory [B, S, memory_width]
//   mask  broadcastable to [B, N, T, S]: bool, true where a query may look; or floating, added to the scores
//
// A query that may look nowhere gets the bias of `out`. Throws ArgumentError for shapes that do not fit.
//
// State keys: query, key, value, out, each .weight and .bias. PyTorch's nn.MultiheadAttention holds the first
// three stacked: in_proj_weight = [query; key; value], in_proj_bias alike; its out_proj is `out`. Initialised
// as there: query, key and value Xavier-uniform, all biases 0.
//
// Maps: "cross" [B, T, S], the mean over heads.
class CrossAttentionImpl : public torch::nn::Module {
 public:
  explicit CrossAttentionImpl(const CrossAttentionOptions& options);

  CrossAttended forward(const torch::Tensor& query, const torch::Tensor& memory,
                        const torch::Tensor& mask = {}, AttentionWeights weights = AttentionWeights::none);

  // The two halves of forward, for a decoder that looks at one memory many times. Keys and values of several
  // calls may be joined along S (a cache). Row i of query looks at row i of keys and values.
  ProjectedMemory project_memory(const torch::Tensor& memory);
  CrossAttended attend_projected(const torch::Tensor& query, const torch::Tensor& keys,
                                 const torch::Tensor& values, const torch::Tensor& mask = {},
                                 AttentionWeights weights = AttentionWeights::none);

  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  // Multiply-accumulates for one sample: projections and both matrix products.
  int64_t macs(int64_t queries, int64_t keys) const;

  const CrossAttentionOptions& options() const { return options_; }  // widths filled in

 private:
  torch::Tensor split_heads(const torch::Tensor& tokens) const;

  CrossAttentionOptions options_;
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr}, out_{nullptr};
};
TORCH_MODULE(CrossAttention);

}  // namespace gaze
