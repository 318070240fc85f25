#include "modules/attention/multi_head_attention.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <array>
#include <limits>
#include <vector>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"
#include "modules/ops/linear/linear.h"

namespace gaze {
namespace {

MultiHeadAttentionOptions checked(MultiHeadAttentionOptions options, const std::string& called) {
  if (options.key_width == 0) options.key_width = options.query_width;
  if (options.value_width == 0) options.value_width = options.key_width;
  if (options.width == 0) options.width = options.query_width;
  const auto require = [&](bool holds, const std::string& expected, const char* name, auto value) {
    if (!holds) check_that(false, called, expected, fmt::format("{} {}", name, value));
  };
  require(options.query_width > 0, "query_width >= 1", "query_width", options.query_width);
  require(options.key_width > 0, "key_width >= 1", "key_width", options.key_width);
  require(options.value_width > 0, "value_width >= 1", "value_width", options.value_width);
  require(options.width > 0, "width >= 1", "width", options.width);
  require(options.heads > 0, "heads >= 1", "heads", options.heads);
  require(options.width % options.heads == 0, fmt::format("heads that divide width {}", options.width),
          "heads", options.heads);
  require(options.relative >= 0, "relative >= 1, or 0 for no relative positions", "relative",
          options.relative);
  require(options.grid_relative >= 0, "grid_relative >= 1, or 0 for none", "grid_relative",
          options.grid_relative);
  require(options.dropout >= 0 && options.dropout < 1, "dropout in [0, 1)", "dropout", options.dropout);
  constexpr int64_t kNarrow = 32;
  if (options.width / options.heads < kNarrow) {
    TORCH_WARN_ONCE("[", called, "] heads of width ", options.width / options.heads, ": under ", kNarrow,
                    " kernels are slow and scores coarse; fewer heads may do more");
  }
  return options;
}

torch::Tensor through(const torch::nn::Linear& layer, const torch::Tensor& x) {
  return ops::linear(x, layer->weight, layer->bias);
}

// [B, S], true where a key may be looked at.
torch::Tensor keys_to_see(const torch::Tensor& padding, int64_t B, int64_t S, const std::string& called) {
  if (!padding.defined()) return {};
  check_shape(padding, "key_padding", {{"B", B}, {"S", S}}, called);
  check_that(padding.scalar_type() == torch::kBool, called, "key_padding bool",
             fmt::format("key_padding {}", c10::toString(padding.scalar_type())));
  return padding.logical_not();
}

}  // namespace

MultiHeadAttentionImpl::MultiHeadAttentionImpl(const MultiHeadAttentionOptions& options, std::string called)
    : called_(std::move(called)), options_(checked(options, called_)) {
  const auto linear = [&](int64_t in, int64_t out) {
    return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(options_.bias));
  };
  query_ = register_module("query", linear(options_.query_width, options_.width));
  key_ = register_module("key", linear(options_.key_width, options_.width));
  value_ = register_module("value", linear(options_.value_width, options_.width));
  out_ = register_module("out", linear(options_.width, options_.query_width));
  if (options_.relative > 0) {
    relative_ = register_parameter("relative", torch::empty({options_.heads, 2 * options_.relative - 1}));
  }
  if (options_.grid_relative > 0)
    grid_ = register_module("grid", GridDistances(options_.grid_relative, options_.width / options_.heads));
  reset_parameters();
}

void MultiHeadAttentionImpl::reset_parameters() {
  if (relative_.defined()) torch::nn::init::zeros_(relative_);
  if (grid_)
    for (torch::Tensor& table : grid_->parameters()) torch::nn::init::zeros_(table);
  out_->reset_parameters();
  for (const torch::nn::Linear& projection : {query_, key_, value_}) {
    torch::nn::init::xavier_uniform_(projection->weight);
  }
  if (!options_.bias) return;
  for (const torch::nn::Linear& projection : {query_, key_, value_, out_})
    torch::nn::init::zeros_(projection->bias);
}

void MultiHeadAttentionImpl::zero_output() {
  for (torch::Tensor& parameter : out_->parameters()) torch::nn::init::zeros_(parameter);
}

torch::Tensor MultiHeadAttentionImpl::split_heads(const torch::Tensor& tokens) const {
  return tokens
      .unflatten(2, {options_.heads, options_.width / options_.heads})  // [B, T, N, D/N]
      .transpose(1, 2);                                                 // [B, N, T, D/N]
}

AttendedTokens MultiHeadAttentionImpl::forward(const torch::Tensor& query, const torch::Tensor& key,
                                               const torch::Tensor& value, const AttentionMask& mask,
                                               AttentionWeights weights) {
  check_shape(query, "query", {"B", "T", {"query_width", options_.query_width}}, called_);
  check_shape(key, "key", {{"B", query.size(0)}, "S", {"key_width", options_.key_width}}, called_);
  return attend(split_heads(through(query_, query)), project(key, value), mask, weights,
                query.is_same(key) ? "self" : "cross");
}

AttendedTokens MultiHeadAttentionImpl::forward_on_grid(const torch::Tensor& tokens, int64_t rows,
                                                       int64_t columns, const AttentionMask& mask,
                                                       AttentionWeights weights) {
  check_shape(tokens, "tokens",
              {"B", {"rows * columns", rows * columns}, {"query_width", options_.query_width}}, called_);
  const torch::Tensor q = split_heads(through(query_, tokens));
  return attend(q, project(tokens, tokens), mask, weights, "self",
                grid_ ? grid_->forward(q, rows, columns) : GridBiases());
}

ProjectedMemory MultiHeadAttentionImpl::project(const torch::Tensor& key, const torch::Tensor& value) {
  check_shape(key, "key", {"B", "S", {"key_width", options_.key_width}}, called_);
  check_shape(value, "value", {{"B", key.size(0)}, {"S", key.size(1)}, {"value_width", options_.value_width}},
              called_);
  return {split_heads(through(key_, key)), split_heads(through(value_, value))};
}

AttendedTokens MultiHeadAttentionImpl::attend_projected(const torch::Tensor& query, const torch::Tensor& keys,
                                                        const torch::Tensor& values,
                                                        const AttentionMask& mask, AttentionWeights weights) {
  check_shape(query, "query", {"B", "T", {"query_width", options_.query_width}}, called_);
  return attend(split_heads(through(query_, query)), {keys, values}, mask, weights, "cross");
}

AttendedTokens MultiHeadAttentionImpl::attend_next(const torch::Tensor& query, const torch::Tensor& value,
                                                   TokenCache& tokens) {
  check_shape(query, "query", {{"R", tokens.rows()}, {"T", 1}, {"query_width", options_.query_width}},
              called_);
  check_shape(value, "value", {{"R", tokens.rows()}, {"T", 1}, {"value_width", options_.value_width}},
              called_);
  {
    const torch::NoGradGuard no_grad;
    tokens.append(through(key_, query), through(value_, value));
  }
  return attend(split_heads(through(query_, query)), tokens.read(options_.heads), {}, AttentionWeights::none,
                "self");
}

TokenCache MultiHeadAttentionImpl::no_tokens(int64_t rows) const {
  return TokenCache(rows, options_.width, key_->weight);
}

AttendedTokens MultiHeadAttentionImpl::attend(const torch::Tensor& q, const ProjectedMemory& memory,
                                              const AttentionMask& mask, AttentionWeights weights,
                                              const char* map, const GridBiases& grid) {
  MapRecorder* const recorder = MapRecorder::current();
  ops::AttendOptions how;
  how.causal = options_.causal;
  how.weights = weights;
  if (recorder != nullptr && how.weights == AttentionWeights::none) how.weights = AttentionWeights::head_mean;
  how.key_mask = keys_to_see(mask.key_padding, q.size(0), memory.keys.size(2), called_);
  how.relative = relative_;
  how.relative_inside = options_.relative_inside;
  how.row_bias = grid.rows;
  how.column_bias = grid.columns;
  if (is_training() && options_.dropout > 0) {
    how.dropout = options_.dropout;
    how.seed = torch::randint(std::numeric_limits<int64_t>::max(), {1}, torch::kLong).item<int64_t>();
  }

  const ops::Attended attended = ops::attend(q, memory.keys, memory.values, mask.pairs, how);
  const torch::Tensor together = attended.output.transpose(1, 2).flatten(2);  // [B, T, D]
  AttendedTokens result{through(out_, together), {}};                         // [B, T, query_width]
  if (weights != AttentionWeights::none) result.weights = attended.weights;
  if (recorder == nullptr) return result;
  const torch::Tensor mean = how.weights == AttentionWeights::per_head
                                 ? attended.weights.mean(1)  // [B, T, S]
                                 : attended.weights;
  recorder->file(map, AttentionMap::Kind::token, mean);
  return result;
}

void MultiHeadAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format(
      "gaze::MultiHeadAttention(query_width={}, key_width={}, value_width={}, width={}, heads={}, bias={}, "
      "dropout={}, causal={}, relative={}, grid_relative={})",
      options_.query_width, options_.key_width, options_.value_width, options_.width, options_.heads,
      options_.bias, options_.dropout, options_.causal, options_.relative, options_.grid_relative);
}

int64_t MultiHeadAttentionImpl::macs(int64_t queries, int64_t keys) const {
  const int64_t projections = queries * 2 * options_.query_width * options_.width +
                              keys * (options_.key_width + options_.value_width) * options_.width;
  return projections + 2 * queries * keys * options_.width;
}

std::map<std::string, torch::Tensor> from_torch_multihead(
    const std::map<std::string, torch::Tensor>& theirs) {
  constexpr const char* op = "multi_head_attention";
  const auto find = [&](const char* name) {
    const auto found = theirs.find(name);
    check_that(found != theirs.end(), op, fmt::format("a tensor {} of nn.MultiheadAttention", name), "none");
    return found->second;
  };
  for (const char* name : {"bias_k", "bias_v"}) {
    check_that(theirs.count(name) == 0, op, "an nn.MultiheadAttention without bias_k and bias_v", name);
  }
  std::map<std::string, torch::Tensor> ours;
  const std::array<const char*, 3> names = {"query", "key", "value"};
  const auto take_thirds = [&](const char* name, const char* leaf) {
    const torch::Tensor stacked = find(name);
    check_that(stacked.dim() > 0 && stacked.size(0) % 3 == 0, op, fmt::format("{} [3E, ...]", name),
               fmt::format("{} {}", name, shape_text(stacked.sizes())));
    const std::vector<torch::Tensor> thirds = stacked.chunk(3);
    for (size_t i = 0; i < names.size(); ++i) ours[std::string(names[i]) + leaf] = thirds[i];
  };
  if (theirs.count("q_proj_weight") != 0) {
    ours = {{"query.weight", find("q_proj_weight")},
            {"key.weight", find("k_proj_weight")},
            {"value.weight", find("v_proj_weight")}};
  } else {
    take_thirds("in_proj_weight", ".weight");
  }
  ours["out.weight"] = find("out_proj.weight");
  if (theirs.count("in_proj_bias") != 0 || theirs.count("out_proj.bias") != 0) {
    take_thirds("in_proj_bias", ".bias");
    ours["out.bias"] = find("out_proj.bias");
  }
  return ours;
}

}  // namespace gaze
