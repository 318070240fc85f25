#include "modules/attention/global_attention.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"
#include "modules/ops/additive_attend/additive_attend.h"
#include "modules/ops/attend/attend.h"

namespace gaze {
namespace {

constexpr const char* kName = "global_attention";

const char* name_of(AttentionScore score) {
  switch (score) {
    case AttentionScore::dot:
      return "dot";
    case AttentionScore::general:
      return "general";
    case AttentionScore::scaled_dot:
      return "scaled_dot";
    default:
      return "additive";
  }
}

GlobalAttentionOptions checked(GlobalAttentionOptions options) {
  if (options.key_width == 0) options.key_width = options.query_width;
  if (options.width == 0) options.width = options.query_width;
  const auto at_least_one = [](const char* name, int64_t value) {
    check_that(value >= 1, kName, fmt::format("{} >= 1", name), fmt::format("{} {}", name, value));
  };
  at_least_one("query_width", options.query_width);
  at_least_one("key_width", options.key_width);
  at_least_one("width", options.width);
  if (options.score == AttentionScore::dot || options.score == AttentionScore::scaled_dot) {
    check_that(options.key_width == options.query_width, kName,
               fmt::format("key_width {} like query_width for score {}", options.query_width,
                           name_of(options.score)),
               fmt::format("key_width {}", options.key_width));
  }
  return options;
}

// One mask as the ops take it, true where a query may look.
void check_mask(const torch::Tensor& mask, int64_t B, int64_t T, int64_t S) {
  if (!mask.defined()) return;
  if (mask.dim() == 2) {
    check_shape(mask, "mask", {{"B", B}, {"S", S}}, kName);
  } else {
    check_shape(mask, "mask", {{"B", B}, {"T", T}, {"S", S}}, kName);
  }
  check_that(mask.scalar_type() == torch::kBool, kName, "mask bool",
             fmt::format("mask {}", c10::toString(mask.scalar_type())));
}

// Scores that are products of rows, by the op of scaled dot-product attention with one head.
ops::AdditiveAttended attend_rows(const torch::Tensor& query, const torch::Tensor& keys,
                                  const torch::Tensor& values, torch::Tensor mask, double scale) {
  ops::AttendOptions how;
  how.scale = scale;
  how.weights = ops::AttendWeights::per_head;
  if (mask.defined()) mask = mask.dim() == 2 ? mask.unsqueeze(1).unsqueeze(1) : mask.unsqueeze(1);
  const ops::Attended attended =
      ops::attend(query.unsqueeze(1), keys.unsqueeze(1), values.unsqueeze(1), mask, how);
  return {attended.output.squeeze(1), attended.weights.squeeze(1)};  // [B, T, key_width], [B, T, S]
}

}  // namespace

GlobalAttentionImpl::GlobalAttentionImpl(const GlobalAttentionOptions& options) : options_(checked(options)) {
  const int64_t queries = options_.query_width, keys = options_.key_width;
  const auto linear = [](int64_t in, int64_t out, bool bias) {
    return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(bias));
  };
  if (options_.score == AttentionScore::additive) {
    attn_ = register_module("attn", linear(keys + queries, options_.width, options_.bias));
    v_ = register_module("v", linear(options_.width, 1, false));
  }
  if (options_.score == AttentionScore::general)
    general_ = register_module("general", linear(keys, queries, false));
}

void GlobalAttentionImpl::reset_parameters() {
  for (torch::nn::Linear* const layer : {&attn_, &v_, &general_})
    if (!layer->is_empty()) (*layer)->reset_parameters();
}

AttendedMemory GlobalAttentionImpl::forward(const torch::Tensor& query, const torch::Tensor& memory,
                                            const torch::Tensor& mask) {
  return attend_projected(query, project(memory), memory, mask);
}

torch::Tensor GlobalAttentionImpl::project(const torch::Tensor& memory) {
  check_shape(memory, "memory", {"B", "S", {"key_width", options_.key_width}}, kName);
  if (attn_.is_empty()) return memory;
  check_like(attn_->weight, "attn.weight", memory, "memory", kName);
  return torch::linear(memory, attn_->weight.narrow(1, 0, options_.key_width));  // [B, S, D]
}

AttendedMemory GlobalAttentionImpl::attend_projected(const torch::Tensor& query, const torch::Tensor& keys,
                                                     const torch::Tensor& memory, const torch::Tensor& mask) {
  const bool one = query.defined() && query.dim() == 2;
  if (one) {
    check_shape(query, "query", {"B", {"query_width", options_.query_width}}, kName);
  } else {
    check_shape(query, "query", {"B", "T", {"query_width", options_.query_width}}, kName);
  }
  const torch::Tensor states = one ? query.unsqueeze(1) : query;  // [B, T, query_width]
  const int64_t B = query.size(0);
  check_shape(memory, "memory", {{"B", B}, "S", {"key_width", options_.key_width}}, kName);
  const int64_t inside = attn_.is_empty() ? options_.key_width : options_.width;
  check_shape(keys, "keys", {{"B", B}, {"S", memory.size(1)}, {"width", inside}}, kName);
  check_like(memory, "memory", query, "query", kName);
  check_mask(mask, B, states.size(1), memory.size(1));

  ops::AdditiveAttended attended;
  switch (options_.score) {
    case AttentionScore::additive: {
      const torch::Tensor columns = attn_->weight.narrow(1, options_.key_width, options_.query_width);
      attended = ops::additive_attend(torch::linear(states, columns, attn_->bias), keys,
                                      v_->weight.squeeze(0), memory, mask);
      break;
    }
    case AttentionScore::general:
      check_like(general_->weight, "general.weight", query, "query", kName);
      attended = attend_rows(torch::matmul(states, general_->weight), keys, memory, mask, 1);
      break;
    case AttentionScore::dot:
      attended = attend_rows(states, keys, memory, mask, 1);
      break;
    case AttentionScore::scaled_dot:
      attended = attend_rows(states, keys, memory, mask, 1 / std::sqrt(double(options_.query_width)));
  }
  if (MapRecorder* const recorder = MapRecorder::current())
    recorder->file("cross", AttentionMap::Kind::token, attended.weights);
  if (!one) return {attended.context, attended.weights};
  return {attended.context.squeeze(1), attended.weights.squeeze(1)};  // [B, key_width], [B, S]
}

void GlobalAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::GlobalAttention(score={}, query_width={}, key_width={}",
                        name_of(options_.score), options_.query_width, options_.key_width);
  if (!attn_.is_empty()) stream << fmt::format(", width={}, bias={}", options_.width, options_.bias);
  stream << ")";
}

int64_t GlobalAttentionImpl::macs(int64_t queries, int64_t keys) const {
  const int64_t from = options_.query_width, to = options_.key_width, pairs = queries * keys;
  if (!attn_.is_empty()) return options_.width * (queries * from + keys * to + pairs) + pairs * to;
  return (general_.is_empty() ? 0 : queries * from * to) + 2 * pairs * to;
}

}  // namespace gaze
