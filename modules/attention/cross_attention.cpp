#include "modules/attention/cross_attention.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"
#include "modules/ops/attend/attend.h"

namespace gaze {
namespace {

CrossAttentionOptions checked(CrossAttentionOptions options) {
  if (options.memory_width == 0) options.memory_width = options.query_width;
  if (options.width == 0) options.width = options.query_width;
  const auto require = [](bool holds, const char* expected, const char* name, auto value) {
    if (!holds) check_that(false, "cross_attention", expected, fmt::format("{} {}", name, value));
  };
  require(options.query_width > 0, "query_width >= 1", "query_width", options.query_width);
  require(options.memory_width > 0, "memory_width >= 1", "memory_width", options.memory_width);
  require(options.width > 0, "width >= 1", "width", options.width);
  require(options.heads > 0, "heads >= 1", "heads", options.heads);
  require(options.width % options.heads == 0,
          fmt::format("heads that divide width {}", options.width).c_str(), "heads", options.heads);
  require(options.dropout >= 0 && options.dropout < 1, "dropout in [0, 1)", "dropout", options.dropout);
  return options;
}

}  // namespace

CrossAttentionImpl::CrossAttentionImpl(const CrossAttentionOptions& options) : options_(checked(options)) {
  const auto linear = [&](int64_t in, int64_t out) {
    return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(options_.bias));
  };
  query_ = register_module("query", linear(options_.query_width, options_.width));
  key_ = register_module("key", linear(options_.memory_width, options_.width));
  value_ = register_module("value", linear(options_.memory_width, options_.width));
  out_ = register_module("out", linear(options_.width, options_.query_width));
  reset_parameters();
}

void CrossAttentionImpl::reset_parameters() {
  out_->reset_parameters();
  for (const torch::nn::Linear& projection : {query_, key_, value_}) {
    torch::nn::init::xavier_uniform_(projection->weight);
  }
  if (!options_.bias) return;
  for (const torch::nn::Linear& projection : {query_, key_, value_, out_})
    torch::nn::init::zeros_(projection->bias);
}

torch::Tensor CrossAttentionImpl::split_heads(const torch::Tensor& tokens) const {
  return tokens
      .unflatten(2, {options_.heads, options_.width / options_.heads})  // [B, T, N, D/N]
      .transpose(1, 2);                                                 // [B, N, T, D/N]
}

CrossAttended CrossAttentionImpl::forward(const torch::Tensor& query, const torch::Tensor& memory,
                                          const torch::Tensor& mask, AttentionWeights weights) {
  check_shape(query, "query", {"B", "T", {"query_width", options_.query_width}}, "cross_attention");
  check_shape(memory, "memory", {{"B", query.size(0)}, "S", {"memory_width", options_.memory_width}},
              "cross_attention");
  const ProjectedMemory projected = project_memory(memory);
  return attend_projected(query, projected.keys, projected.values, mask, weights);
}

ProjectedMemory CrossAttentionImpl::project_memory(const torch::Tensor& memory) {
  check_shape(memory, "memory", {"B", "S", {"memory_width", options_.memory_width}}, "cross_attention");
  return {split_heads(key_->forward(memory)), split_heads(value_->forward(memory))};
}

CrossAttended CrossAttentionImpl::attend_projected(const torch::Tensor& query, const torch::Tensor& keys,
                                                   const torch::Tensor& values, const torch::Tensor& mask,
                                                   AttentionWeights weights) {
  check_shape(query, "query", {"B", "T", {"query_width", options_.query_width}}, "cross_attention");
  MapRecorder* const recorder = MapRecorder::current();
  const bool drop = is_training() && options_.dropout > 0;
  ops::AttendOptions how;
  how.causal = options_.causal;
  how.weights = drop || recorder != nullptr || weights != AttentionWeights::none;

  ops::Attended attended = ops::attend(split_heads(query_->forward(query)), keys, values, mask, how);
  if (drop) {
    const torch::Tensor kept = torch::dropout(attended.weights, options_.dropout, true);  // [B, N, T, S]
    attended.output = torch::matmul(kept.to(values.scalar_type()), values);               // [B, N, T, D/N]
  }
  const torch::Tensor joined = attended.output.transpose(1, 2).flatten(2);  // [B, T, D]
  CrossAttended result{out_->forward(joined), {}};                          // [B, T, query_width]
  if (weights == AttentionWeights::per_head) result.weights = attended.weights;
  if (weights == AttentionWeights::head_mean) result.weights = attended.weights.mean(1);  // [B, T, S]
  if (recorder != nullptr) recorder->file("cross", AttentionMap::Kind::token, attended.weights.mean(1));
  return result;
}

void CrossAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format(
      "gaze::CrossAttention(query_width={}, memory_width={}, width={}, heads={}, bias={}, dropout={}, "
      "causal={})",
      options_.query_width, options_.memory_width, options_.width, options_.heads, options_.bias,
      options_.dropout, options_.causal);
}

int64_t CrossAttentionImpl::macs(int64_t queries, int64_t keys) const {
  const int64_t projections =
      queries * 2 * options_.query_width * options_.width + keys * 2 * options_.memory_width * options_.width;
  return projections + 2 * queries * keys * options_.width;
}

}  // namespace gaze
