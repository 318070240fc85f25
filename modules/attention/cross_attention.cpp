#include "modules/attention/cross_attention.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/check.h"

namespace gaze {
namespace {

constexpr const char* kName = "cross_attention";

MultiHeadAttentionOptions with_one_memory(const CrossAttentionOptions& options) {
  check_that(options.memory_width >= 0, kName, "memory_width >= 1",
             fmt::format("memory_width {}", options.memory_width));
  MultiHeadAttentionOptions general;
  general.query_width = options.query_width;
  general.key_width = general.value_width = options.memory_width;
  general.heads = options.heads;
  general.width = options.width;
  general.bias = options.bias;
  general.dropout = options.dropout;
  general.causal = options.causal;
  return general;
}

}  // namespace

CrossAttentionImpl::CrossAttentionImpl(const CrossAttentionOptions& options)
    : MultiHeadAttentionImpl(with_one_memory(options), kName) {}

CrossAttended CrossAttentionImpl::forward(const torch::Tensor& query, const torch::Tensor& memory,
                                          const AttentionMask& mask, AttentionWeights weights) {
  check_shape(query, "query", {"B", "T", {"query_width", options().query_width}}, kName);
  check_shape(memory, "memory", {{"B", query.size(0)}, "S", {"memory_width", options().key_width}}, kName);
  const ProjectedMemory projected = project(memory, memory);
  return attend_projected(query, projected.keys, projected.values, mask, weights);
}

ProjectedMemory CrossAttentionImpl::project_memory(const torch::Tensor& memory) {
  check_shape(memory, "memory", {"B", "S", {"memory_width", options().key_width}}, kName);
  return project(memory, memory);
}

void CrossAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format(
      "gaze::CrossAttention(query_width={}, memory_width={}, width={}, heads={}, bias={}, dropout={}, "
      "causal={})",
      options().query_width, options().key_width, options().width, options().heads, options().bias,
      options().dropout, options().causal);
}

}  // namespace gaze
