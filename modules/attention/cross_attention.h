// Multi-head attention of one set of tokens over another; of a set over itself when memory = query.
#pragma once

#include <cstdint>

#include "modules/attention/multi_head_attention.h"

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

using CrossAttended = AttendedTokens;

// MultiHeadAttention whose keys and values are one memory:
// output = W_out · concat over heads of attend(W_q · query, W_k · memory, W_v · memory); scale 1/√(D/N).
//
//   query [B, T, query_width], memory [B, S, memory_width]
//   mask  as AttentionMask has it: bool or floating pairs, padded keys; and causal as the options have it
//
// A query that may look nowhere gets the bias of `out`. Throws ArgumentError for shapes that do not fit.
// State keys and start: MultiHeadAttention's.
//
// Maps: "cross" [B, T, S], the mean over heads.
class CrossAttentionImpl : public MultiHeadAttentionImpl {
 public:
  explicit CrossAttentionImpl(const CrossAttentionOptions& options);

  CrossAttended forward(const torch::Tensor& query, const torch::Tensor& memory,
                        const AttentionMask& mask = {}, AttentionWeights weights = AttentionWeights::none);

  // The first half of forward; the second is attend_projected.
  ProjectedMemory project_memory(const torch::Tensor& memory);

  void pretty_print(std::ostream& stream) const override;
};
TORCH_MODULE(CrossAttention);

}  // namespace gaze
