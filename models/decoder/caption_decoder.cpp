#include "models/decoder/caption_decoder.h"

#include <fmt/format.h>
#include <torch/nn/init.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "models/decoder/decoder_options.h"
#include "models/decoder/vocabulary.h"
#include "modules/attention/positions.h"
#include "modules/core/check.h"
#include "modules/ops/linear/linear.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "caption_decoder";

void check_at_least(int64_t value, int64_t least, const char* name) {
  check_that(value >= least, kOp, fmt::format("{} >= {}", name, least), fmt::format("{} {}", name, value));
}

CaptionDecoderOptions checked(const CaptionDecoderOptions& options) {
  check_at_least(options.vocabulary, Vocabulary::kSpecials, "vocabulary");
  check_at_least(options.visual_width, 1, "visual_width");
  check_at_least(options.width, 4, "width");
  check_at_least(options.heads, 1, "heads");
  check_at_least(options.layers, 1, "layers");
  check_at_least(options.feed_forward, 1, "feed_forward");
  check_at_least(options.max_tokens, 2, "max_tokens");
  check_that(options.width % 4 == 0 && options.width % options.heads == 0, kOp,
             "width a multiple of 4 and of heads",
             fmt::format("width {}, heads {}", options.width, options.heads));
  check_class_groups(options, options.visual_width, options.vocabulary, options.class_evidence, kOp);
  check_that(options.dropout >= 0 && options.dropout < 1, kOp, "dropout in [0, 1)",
             fmt::format("dropout {}", options.dropout));
  return options;
}

class CellSteps : public StepDecoder {
 public:
  CellSteps(CaptionDecoderImpl& decoder, const torch::Tensor& memory, int64_t beam)
      : decoder_(decoder), state_(decoder.begin(memory, beam)) {}

  int64_t max_tokens() const override { return decoder_.max_tokens(); }
  int64_t inputs() const override { return state_.pictures(); }
  DecoderStep step(const torch::Tensor& tokens) override { return decoder_.step(state_, tokens); }
  void reorder(const torch::Tensor& rows) override { state_.reorder(rows); }

 private:
  CaptionDecoderImpl& decoder_;
  DecoderState state_;
};

}  // namespace

nlohmann::json to_json(const CaptionDecoderOptions& options) {
  nlohmann::json json = {{"vocabulary", options.vocabulary},
                         {"visual_width", options.visual_width},
                         {"class_evidence", options.class_evidence},
                         {"copy", options.copy},
                         {"width", options.width},
                         {"heads", options.heads},
                         {"layers", options.layers},
                         {"feed_forward", options.feed_forward},
                         {"max_tokens", options.max_tokens},
                         {"dropout", options.dropout},
                         {"tie", options.tie}};
  add_class_groups(options, json);
  return json;
}

CaptionDecoderOptions caption_decoder_options_from_json(const nlohmann::json& json) {
  CaptionDecoderOptions options;
  const nlohmann::json all = filled_options(json, to_json(options), kOp);
  options.vocabulary = all["vocabulary"];
  options.visual_width = all["visual_width"];
  options.class_evidence = all["class_evidence"];
  static_cast<ClassGroups&>(options) = class_groups_of(all);
  options.copy = all["copy"];
  options.width = all["width"];
  options.heads = all["heads"];
  options.layers = all["layers"];
  options.feed_forward = all["feed_forward"];
  options.max_tokens = all["max_tokens"];
  options.dropout = all["dropout"];
  options.tie = all["tie"];
  return checked(options);
}

CaptionDecoderImpl::CaptionDecoderImpl(const CaptionDecoderOptions& options)
    : EvidenceDecoder(checked(options), options.visual_width, options.vocabulary, kOp), options_(options) {
  using namespace torch::nn;
  const int64_t D = options_.width, V = options_.vocabulary;
  if (options_.group_words.empty()) {
    visual_ = register_module("visual", Linear(LinearOptions(cell_width(), D).bias(false)));
    // Probabilities are small numbers: the usual initialisation would leave every cell nearly the same.
    if (options_.class_evidence) init::normal_(visual_->weight, 0.0, 0.5);
  }
  add_group_words(D);
  visual_norm_ = register_module("visual_norm", LayerNorm(LayerNormOptions({D})));
  embedding_ = register_module("embedding", Embedding(V, D));
  init::normal_(embedding_->weight, 0.0, 1.0 / std::sqrt(static_cast<double>(D)));
  dropout_ = register_module("dropout", Dropout(options_.dropout));
  ModuleList layers = register_module("layers", ModuleList());
  TransformerLayerOptions layer;
  layer.width = D;
  layer.heads = options_.heads;
  layer.feed_forward = options_.feed_forward;
  layer.dropout = options_.dropout;
  layer.activation = Activation::gelu;
  for (int64_t i = 0; i < options_.layers; ++i) {
    layers_.emplace_back(layer);
    layers->push_back(layers_.back());
    if (options_.copy) layers_.back()->start_copying();
  }
  if (options_.tie) {
    output_bias_ = register_parameter("output_bias", torch::zeros({V}));
  } else {
    output_ = register_module("output", Linear(D, V));
    init::xavier_uniform_(output_->weight);
    init::zeros_(output_->bias);
  }
}

torch::Tensor CaptionDecoderImpl::embed_picture(const torch::Tensor& visual) {
  check_shape(visual, "visual", {"B", {"K", options_.visual_width}, "H", "W"}, kOp);
  check_floating(visual, "visual", kOp);
  torch::Tensor cells = visual.flatten(2).transpose(1, 2);  // [B, S, K]
  if (options_.class_evidence) cells = group_probabilities(cells);
  return embed_cells(cells, visual.size(2), visual.size(3));
}

PictureTokens CaptionDecoderImpl::look_at(const torch::Tensor& visual) {
  return {embed_picture(visual), visual.size(2), visual.size(3)};
}

std::unique_ptr<StepDecoder> CaptionDecoderImpl::start(const torch::Tensor& memory, int64_t beam) {
  return std::make_unique<CellSteps>(*this, memory, beam);
}

nlohmann::json CaptionDecoderImpl::describe() const {
  nlohmann::json description = to_json(options_);
  description["kind"] = "cells";
  return description;
}

torch::Tensor CaptionDecoderImpl::embed_cells(const torch::Tensor& cells, int64_t rows, int64_t cols) {
  check_shape(cells, "cells", {"B", {"S", rows * cols}, {"G", cell_width()}}, kOp);
  const torch::Tensor tokens =
      visual_norm_(has_group_words() ? named_cells(cells, embedding_->weight)
                                     : visual_(cells.to(visual_->weight.scalar_type())));  // [B, S, D]
  return tokens + grid_positions(rows, cols, options_.width).to(tokens.options());
}

torch::Tensor CaptionDecoderImpl::embed_words(const torch::Tensor& tokens, int64_t first) {
  const torch::Tensor words =
      embedding_(tokens) * std::sqrt(static_cast<double>(options_.width));  // [B, T, D]
  return dropout_(words + sinusoidal_positions(first, tokens.size(1), options_.width).to(words.options()));
}

torch::Tensor CaptionDecoderImpl::logits(const torch::Tensor& x) {
  return options_.tie ? ops::linear(x, embedding_->weight, output_bias_)
                      : ops::linear(x, output_->weight, output_->bias);
}

ForcedWords CaptionDecoderImpl::force(const torch::Tensor& tokens, const torch::Tensor& memory) {
  check_shape(memory, "memory", {"B", "S", {"D", options_.width}}, kOp);
  check_shape(tokens, "tokens", {{"B", memory.size(0)}, "T"}, kOp);
  check_that(tokens.size(1) <= options_.max_tokens, kOp,
             fmt::format("T <= max_tokens {}", options_.max_tokens), fmt::format("T {}", tokens.size(1)));
  torch::Tensor x = embed_words(tokens, 0);  // [B, T, D]
  for (TransformerDecoderLayer& layer : layers_) x = layer(x, memory).output;
  return {logits(x), {}};
}

DecoderState CaptionDecoderImpl::begin(const torch::Tensor& memory, int64_t beam) {
  check_shape(memory, "memory", {"B", "S", {"D", options_.width}}, kOp);
  check_at_least(beam, 1, "beam");
  DecoderState state;
  state.beam = beam;
  for (TransformerDecoderLayer& layer : layers_)
    state.layers.push_back(layer->begin(memory, memory.size(0) * beam));
  return state;
}

DecoderStep CaptionDecoderImpl::step(DecoderState& state, const torch::Tensor& tokens) {
  check_shape(tokens, "tokens", {{"R", state.rows()}}, kOp);
  check_that(state.length < options_.max_tokens, kOp,
             fmt::format("at most max_tokens {} steps", options_.max_tokens), "one more");
  LayerStep at;
  at.x = embed_words(tokens.unsqueeze(1), state.length);  // [R, 1, D]
  for (size_t i = 0; i < layers_.size(); ++i) {
    at = layers_[i]->step(at.x, state.layers[i], /*with_map=*/i + 1 == layers_.size());
  }
  ++state.length;
  return {logits(at.x).squeeze(1).to(torch::kFloat).log_softmax(1), at.map};
}

}  // namespace gaze::models
