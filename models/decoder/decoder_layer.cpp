#include "models/decoder/decoder_layer.h"

#include <torch/nn/init.h>

namespace gaze::models {
namespace {

torch::nn::Linear linear(int64_t in, int64_t out) {
  torch::nn::Linear layer(in, out);
  torch::nn::init::xavier_uniform_(layer->weight);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

torch::nn::LayerNorm layer_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

}  // namespace

DecoderLayerImpl::DecoderLayerImpl(int64_t width, int64_t heads, int64_t feed_forward, double dropout) {
  CrossAttentionOptions attention;
  attention.query_width = width;
  attention.heads = heads;
  cross_ = register_module("cross", CrossAttention(attention));
  attention.causal = true;
  self_ = register_module("self", CrossAttention(attention));
  expand_ = register_module("expand", linear(width, feed_forward));
  shrink_ = register_module("shrink", linear(feed_forward, width));
  self_norm_ = register_module("self_norm", layer_norm(width));
  cross_norm_ = register_module("cross_norm", layer_norm(width));
  feed_norm_ = register_module("feed_norm", layer_norm(width));
  dropout_ = register_module("dropout", torch::nn::Dropout(dropout));
}

void DecoderLayerImpl::start_copying() {
  const torch::NoGradGuard no_grad;
  auto parameters = cross_->named_parameters();
  for (const char* projection : {"value.weight", "out.weight"}) torch::nn::init::eye_(parameters[projection]);
}

torch::Tensor DecoderLayerImpl::after_self(const torch::Tensor& x, const torch::Tensor& heard) {
  return self_norm_(x + dropout_(heard));
}

torch::Tensor DecoderLayerImpl::after_cross(const torch::Tensor& x, const torch::Tensor& seen) {
  const torch::Tensor y = cross_norm_(x + dropout_(seen));
  return feed_norm_(y + dropout_(shrink_(torch::gelu(expand_(y)))));
}

torch::Tensor DecoderLayerImpl::forward(const torch::Tensor& x, const torch::Tensor& memory) {
  const torch::Tensor y = after_self(x, self_->forward(x, x).output);
  return after_cross(y, cross_->forward(y, memory).output);
}

LayerState DecoderLayerImpl::begin(const torch::Tensor& memory, int64_t rows) {
  const torch::Tensor no_words = memory.new_empty({rows, 0, memory.size(2)});
  return {cross_->project_memory(memory), self_->project_memory(no_words)};
}

LayerStep DecoderLayerImpl::step(const torch::Tensor& x, LayerState& state, bool with_map) {
  const ProjectedMemory word = self_->project_memory(x);                  // [R, N, 1, D/N]
  state.words.keys = torch::cat({state.words.keys, word.keys}, 2);        // [R, N, T + 1, D/N]
  state.words.values = torch::cat({state.words.values, word.values}, 2);  // [R, N, T + 1, D/N]
  const torch::Tensor y =
      after_self(x, self_->attend_projected(x, state.words.keys, state.words.values).output);

  // A picture's hypotheses are the queries of one row, so that its keys and values need no copy for each.
  const torch::Tensor queries = y.view({state.picture.keys.size(0), -1, y.size(2)});  // [B, beam, D]
  const CrossAttended seen =
      cross_->attend_projected(queries, state.picture.keys, state.picture.values, {},
                               with_map ? AttentionWeights::per_head : AttentionWeights::none);
  LayerStep next{after_cross(y, seen.output.view_as(y)), {}};
  if (with_map) next.map = seen.weights.transpose(1, 2).flatten(0, 1);  // [B, N, beam, S] -> [R, N, S]
  return next;
}

}  // namespace gaze::models
