#include "modules/attention/transformer.h"

#include <fmt/format.h>
#include <torch/nn/init.h>

#include <utility>

#include "modules/core/check.h"
#include "modules/ops/linear/linear.h"

namespace gaze {
namespace {

torch::nn::Linear linear(int64_t in, int64_t out) {
  torch::nn::Linear layer(in, out);
  torch::nn::init::xavier_uniform_(layer->weight);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

TransformerLayerOptions checked(TransformerLayerOptions options, const char* called) {
  if (options.feed_forward == 0) options.feed_forward = 4 * options.width;
  check_that(options.width > 0, called, "width >= 1", fmt::format("width {}", options.width));
  check_that(options.feed_forward > 0, called, "feed_forward >= 1",
             fmt::format("feed_forward {}", options.feed_forward));
  check_that(options.dropout >= 0 && options.dropout < 1, called, "dropout in [0, 1)",
             fmt::format("dropout {}", options.dropout));
  return options;
}

torch::Tensor through(const torch::nn::Linear& layer, const torch::Tensor& x) {
  return ops::linear(x, layer->weight, layer->bias);
}

torch::Tensor placed(const torch::Tensor& tokens, const torch::Tensor& positions) {
  return positions.defined() ? tokens + positions : tokens;
}

// Attention of tokens over themselves.
AttendedTokens among_themselves(CrossAttention& attention, const torch::Tensor& tokens,
                                const torch::Tensor& positions, const AttentionMask& mask = {},
                                AttentionWeights weights = AttentionWeights::none) {
  const torch::Tensor compared = placed(tokens, positions);
  return attention->MultiHeadAttentionImpl::forward(compared, compared, tokens, mask, weights);
}

std::string options_text(const TransformerLayerOptions& options) {
  return fmt::format(
      "width={}, heads={}, feed_forward={}, dropout={}, weight_dropout={}, norm_first={}, activation={}",
      options.width, options.heads, options.feed_forward, options.dropout, options.weight_dropout,
      options.norm_first, options.activation == Activation::relu ? "relu" : "gelu");
}

}  // namespace

namespace detail {

TransformerLayer::TransformerLayer(const TransformerLayerOptions& options, const char* called)
    : called_(called), options_(checked(options, called)) {
  dropout_ = register_module("dropout", torch::nn::Dropout(options_.dropout));
}

CrossAttention TransformerLayer::add_attention(const char* name, bool causal) {
  CrossAttentionOptions attention;
  attention.query_width = options_.width;
  attention.heads = options_.heads;
  attention.dropout = options_.weight_dropout;
  attention.causal = causal;
  return register_module(name, CrossAttention(attention));
}

torch::nn::LayerNorm TransformerLayer::add_norm(const char* name) {
  return register_module(name, torch::nn::LayerNorm(torch::nn::LayerNormOptions({options_.width})));
}

void TransformerLayer::add_feed_forward() {
  expand_ = register_module("expand", linear(options_.width, options_.feed_forward));
  shrink_ = register_module("shrink", linear(options_.feed_forward, options_.width));
  feed_norm_ = add_norm("feed_norm");
}

torch::Tensor TransformerLayer::feed_forward(const torch::Tensor& x) {
  return with(x, feed_norm_, [&](const torch::Tensor& y) {
    torch::Tensor hidden = through(expand_, y);
    return through(shrink_, options_.activation == Activation::relu ? hidden.relu_() : torch::gelu(hidden));
  });
}

}  // namespace detail

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(const TransformerLayerOptions& options)
    : TransformerLayer(options, "transformer_encoder_layer") {
  self_ = add_attention("self", /*causal=*/false);
  self_norm_ = add_norm("self_norm");
  add_feed_forward();
}

AttendedTokens TransformerEncoderLayerImpl::forward(const torch::Tensor& x, const AttentionMask& mask,
                                                    AttentionWeights weights,
                                                    const torch::Tensor& positions) {
  check_shape(x, "x", {"B", "T", {"D", options_.width}}, called_);
  AttendedTokens result;
  const torch::Tensor y = with(x, self_norm_, [&](const torch::Tensor& tokens) {
    const AttendedTokens heard = among_themselves(self_, tokens, positions, mask, weights);
    result.weights = heard.weights;
    return heard.output;
  });
  result.output = feed_forward(y);
  return result;
}

void TransformerEncoderLayerImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::TransformerEncoderLayer({})", options_text(options_));
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(const TransformerLayerOptions& options)
    : TransformerLayer(options, "transformer_decoder_layer") {
  cross_ = add_attention("cross", /*causal=*/false);
  self_ = add_attention("self", /*causal=*/true);
  self_norm_ = add_norm("self_norm");
  cross_norm_ = add_norm("cross_norm");
  add_feed_forward();
}

void TransformerDecoderLayerImpl::start_copying() {
  const torch::NoGradGuard no_grad;
  auto parameters = cross_->named_parameters();
  for (const char* projection : {"value.weight", "out.weight"}) torch::nn::init::eye_(parameters[projection]);
}

AttendedTokens TransformerDecoderLayerImpl::forward(const torch::Tensor& x, const torch::Tensor& memory,
                                                    const AttentionMask& mask, AttentionWeights weights,
                                                    const LayerPositions& positions) {
  check_shape(x, "x", {"B", "T", {"D", options_.width}}, called_);
  check_shape(memory, "memory", {{"B", x.size(0)}, "S", {"D", options_.width}}, called_);
  const torch::Tensor y = with(x, self_norm_, [&](const torch::Tensor& tokens) {
    return among_themselves(self_, tokens, positions.tokens).output;
  });
  AttendedTokens result;
  const torch::Tensor z = with(y, cross_norm_, [&](const torch::Tensor& tokens) {
    const AttendedTokens seen = cross_->MultiHeadAttentionImpl::forward(
        placed(tokens, positions.tokens), placed(memory, positions.memory), memory, mask, weights);
    result.weights = seen.weights;
    return seen.output;
  });
  result.output = feed_forward(z);
  return result;
}

LayerState TransformerDecoderLayerImpl::begin(const torch::Tensor& memory, int64_t rows,
                                              const torch::Tensor& memory_positions) {
  const torch::NoGradGuard no_grad;
  const ProjectedMemory projected = cross_->project(placed(memory, memory_positions), memory);
  // Each head's in a row: they are read at every step.
  return {{projected.keys.contiguous(), projected.values.contiguous()}, self_->no_tokens(rows)};
}

LayerStep TransformerDecoderLayerImpl::step(const torch::Tensor& x, LayerState& state, bool with_map,
                                            const torch::Tensor& memory_padding,
                                            const torch::Tensor& position) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor y = with(x, self_norm_, [&](const torch::Tensor& token) {
    return self_->attend_next(placed(token, position), token, state.tokens).output;
  });
  LayerStep next;
  const torch::Tensor z = with(y, cross_norm_, [&](const torch::Tensor& token) {
    // A memory's hypotheses are the queries of one row, so that its keys and values need no copy for each.
    const torch::Tensor queries =
        placed(token, position).view({state.memory.keys.size(0), -1, token.size(2)});  // [B, beam, D]
    const CrossAttended seen =
        cross_->attend_projected(queries, state.memory.keys, state.memory.values, {{}, memory_padding},
                                 with_map ? AttentionWeights::per_head : AttentionWeights::none);
    if (with_map) next.map = seen.weights.transpose(1, 2).flatten(0, 1);  // [B, N, beam, S] -> [R, N, S]
    return seen.output.view_as(token);
  });
  next.x = feed_forward(z);
  return next;
}

void TransformerDecoderLayerImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::TransformerDecoderLayer({})", options_text(options_));
}

std::map<std::string, torch::Tensor> from_torch_transformer_layer(
    const std::map<std::string, torch::Tensor>& theirs) {
  using Renames = std::map<std::string, std::string>;
  const bool decoder = theirs.count("norm3.weight") != 0;
  const Renames attentions = decoder ? Renames{{"self_attn.", "self."}, {"multihead_attn.", "cross."}}
                                     : Renames{{"self_attn.", "self."}};
  Renames others{{"linear1.", "expand."}, {"linear2.", "shrink."}, {"norm1.", "self_norm."}};
  others["norm2."] = decoder ? "cross_norm." : "feed_norm.";
  if (decoder) others["norm3."] = "feed_norm.";
  const auto starts = [](const std::string& text, const std::string& prefix) {
    return text.rfind(prefix, 0) == 0;
  };
  std::map<std::string, torch::Tensor> ours;
  std::map<std::string, std::map<std::string, torch::Tensor>> inner;
  for (const auto& [name, value] : theirs) {
    bool known = false;
    for (const auto& [from, to] : attentions) {
      if (!starts(name, from)) continue;
      inner[to][name.substr(from.size())] = value;
      known = true;
    }
    for (const auto& [from, to] : others) {
      if (!starts(name, from)) continue;
      ours[to + name.substr(from.size())] = value;
      known = true;
    }
    check_that(known, "transformer", "the state of a Transformer layer of PyTorch", name);
  }
  for (const auto& [from, to] : attentions) {
    for (const auto& [name, value] : from_torch_multihead(inner[to])) ours[to + name] = value;
  }
  for (const auto& [from, to] : others) {
    for (const char* leaf : {"weight", "bias"})
      check_that(ours.count(to + leaf) != 0, "transformer", fmt::format("a tensor {}{}", from, leaf), "none");
  }
  return ours;
}

}  // namespace gaze
