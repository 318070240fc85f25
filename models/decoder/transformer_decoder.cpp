#include "models/decoder/transformer_decoder.h"

#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "models/decoder/decoder_options.h"
#include "modules/core/check.h"
#include "modules/ops/linear/linear.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "transformer_decoder";

template <typename T>
using Names = std::vector<std::pair<const char*, T>>;
const Names<Activation> kActivations = {{"relu", Activation::relu}, {"gelu", Activation::gelu}};
const Names<WordPositions> kPositions = {{"sinusoidal", WordPositions::sinusoidal},
                                         {"learned", WordPositions::learned}};
const Names<WordHead> kHeads = {
    {"linear", WordHead::linear}, {"tied", WordHead::tied}, {"mlp", WordHead::mlp}};

template <typename T>
const char* name_of(const Names<T>& names, T value) {
  for (const auto& [name, named] : names) {
    if (named == value) return name;
  }
  return "";
}

template <typename T>
T value_of(const Names<T>& names, const nlohmann::json& json, const char* option) {
  const std::string text = json[option];
  std::vector<std::string> known;
  for (const auto& [name, named] : names) {
    if (text == name) return named;
    known.emplace_back(name);
  }
  fail_unknown(kOp, option, text, known);
}

void check_at_least(int64_t value, int64_t least, const char* name) {
  check_that(value >= least, kOp, fmt::format("{} >= {}", name, least), fmt::format("{} {}", name, value));
}

TransformerDecoderOptions checked(const TransformerDecoderOptions& options) {
  check_at_least(options.vocabulary, 1, "vocabulary");
  check_at_least(options.visual_width, 1, "visual_width");
  check_at_least(options.width, 4, "width");
  check_at_least(options.heads, 1, "heads");
  check_at_least(options.feed_forward, 1, "feed_forward");
  check_at_least(options.encoder_layers, 0, "encoder_layers");
  check_at_least(options.decoder_layers, 1, "decoder_layers");
  check_at_least(options.head_width, 1, "head_width");
  check_at_least(options.max_tokens, 2, "max_tokens");
  check_that(options.width % 4 == 0 && options.width % options.heads == 0, kOp,
             "width a multiple of 4 and of heads",
             fmt::format("width {}, heads {}", options.width, options.heads));
  check_that(options.embedding_norm_eps > 0, kOp, "embedding_norm_eps above 0",
             fmt::format("embedding_norm_eps {}", options.embedding_norm_eps));
  check_that(options.dropout >= 0 && options.dropout < 1, kOp, "dropout in [0, 1)",
             fmt::format("dropout {}", options.dropout));
  return options;
}

}  // namespace

nlohmann::json to_json(const TransformerDecoderOptions& options) {
  return {{"vocabulary", options.vocabulary},
          {"visual_width", options.visual_width},
          {"class_evidence", options.class_evidence},
          {"visual_norm", options.visual_norm},
          {"width", options.width},
          {"heads", options.heads},
          {"feed_forward", options.feed_forward},
          {"encoder_layers", options.encoder_layers},
          {"decoder_layers", options.decoder_layers},
          {"norm_first", options.norm_first},
          {"final_norm", options.final_norm},
          {"activation", name_of(kActivations, options.activation)},
          {"positions", name_of(kPositions, options.positions)},
          {"layer_positions", options.layer_positions},
          {"scale_embedding", options.scale_embedding},
          {"embedding_norm", options.embedding_norm},
          {"embedding_norm_eps", options.embedding_norm_eps},
          {"head", name_of(kHeads, options.head)},
          {"head_width", options.head_width},
          {"max_tokens", options.max_tokens},
          {"dropout", options.dropout}};
}

TransformerDecoderOptions transformer_decoder_options_from_json(const nlohmann::json& json) {
  TransformerDecoderOptions options;
  const nlohmann::json all = filled_options(json, to_json(options), kOp);
  options.vocabulary = all["vocabulary"];
  options.visual_width = all["visual_width"];
  options.class_evidence = all["class_evidence"];
  options.visual_norm = all["visual_norm"];
  options.width = all["width"];
  options.heads = all["heads"];
  options.feed_forward = all["feed_forward"];
  options.encoder_layers = all["encoder_layers"];
  options.decoder_layers = all["decoder_layers"];
  options.norm_first = all["norm_first"];
  options.final_norm = all["final_norm"];
  options.activation = value_of(kActivations, all, "activation");
  options.positions = value_of(kPositions, all, "positions");
  options.layer_positions = all["layer_positions"];
  options.scale_embedding = all["scale_embedding"];
  options.embedding_norm = all["embedding_norm"];
  options.embedding_norm_eps = all["embedding_norm_eps"];
  options.head = value_of(kHeads, all, "head");
  options.head_width = all["head_width"];
  options.max_tokens = all["max_tokens"];
  options.dropout = all["dropout"];
  return checked(options);
}

// The words of B pictures, `beam` rows each.
class TransformerSteps : public StepDecoder {
 public:
  TransformerSteps(TransformerDecoderImpl& decoder, const torch::Tensor& memory, int64_t beam)
      : decoder_(decoder) {
    const TransformerDecoderImpl::Memory of = decoder.split(memory);
    state_.beam = beam;
    for (TransformerDecoderLayer& layer : decoder.layers_)
      state_.layers.push_back(layer->begin(of.cells, memory.size(0) * beam, of.positions));
  }

  int64_t max_tokens() const override { return decoder_.max_tokens(); }
  int64_t inputs() const override { return state_.pictures(); }

  DecoderStep step(const torch::Tensor& tokens) override {
    check_shape(tokens, "tokens", {{"R", state_.rows()}}, kOp);
    check_that(state_.length < decoder_.max_tokens(), kOp,
               fmt::format("at most max_tokens {} steps", decoder_.max_tokens()), "one more");
    const torch::NoGradGuard no_grad;
    const torch::Tensor place = decoder_.places(state_.length++, 1);  // [1, D]
    LayerStep at;
    at.x = decoder_.embed(tokens.unsqueeze(1), place);  // [R, 1, D]
    for (size_t i = 0; i < state_.layers.size(); ++i) {
      at = decoder_.layers_[i]->step(at.x, state_.layers[i], /*with_map=*/i + 1 == state_.layers.size(), {},
                                     decoder_.options_.layer_positions ? place : torch::Tensor());
    }
    return {decoder_.logits(at.x.squeeze(1)).to(torch::kFloat).log_softmax(1), at.map};
  }

  void reorder(const torch::Tensor& rows) override { state_.reorder(rows); }

 private:
  TransformerDecoderImpl& decoder_;
  DecoderState state_;
};

TransformerDecoderImpl::TransformerDecoderImpl(const TransformerDecoderOptions& options)
    : options_(checked(options)) {
  using namespace torch::nn;
  const int64_t D = options_.width, V = options_.vocabulary;
  const auto norm = [&](const char* name, double eps = 1e-5) {
    return register_module(name, LayerNorm(LayerNormOptions({D}).eps(eps)));
  };
  const auto linear = [](int64_t in, int64_t out) {
    Linear layer(in, out);
    init::xavier_uniform_(layer->weight);
    init::zeros_(layer->bias);
    return layer;
  };
  TransformerLayerOptions layer;
  layer.width = D;
  layer.heads = options_.heads;
  layer.feed_forward = options_.feed_forward;
  layer.dropout = options_.dropout;
  layer.norm_first = options_.norm_first;
  layer.activation = options_.activation;

  visual_ = register_module("visual", linear(options_.visual_width, D));
  if (options_.visual_norm) visual_norm_ = norm("visual_norm");
  if (options_.encoder_layers > 0) {
    ModuleList encoder = register_module("encoder", ModuleList());
    for (int64_t i = 0; i < options_.encoder_layers; ++i) encoder->push_back(encoder_.emplace_back(layer));
    if (options_.final_norm) encoder_norm_ = norm("encoder_norm");
  }

  embedding_ = register_module("embedding", Embedding(V, D));
  init::normal_(embedding_->weight, 0.0, 1.0 / std::sqrt(static_cast<double>(D)));
  if (options_.positions == WordPositions::learned) {
    learned_ = register_module("positions", LearnedPositions(options_.max_tokens, D));
  } else {
    sinusoidal_ = sinusoidal_positions(0, options_.max_tokens, D);
  }
  if (options_.embedding_norm) embedding_norm_ = norm("embedding_norm", options_.embedding_norm_eps);
  dropout_ = register_module("dropout", Dropout(options_.dropout));
  ModuleList layers = register_module("layers", ModuleList());
  for (int64_t i = 0; i < options_.decoder_layers; ++i) layers->push_back(layers_.emplace_back(layer));
  if (options_.final_norm) norm_ = norm("norm");

  int64_t last = D;
  if (options_.head == WordHead::mlp) {
    ModuleList hidden = register_module("hidden", ModuleList());
    for (int i = 0; i < 2; ++i) {
      hidden->push_back(hidden_.emplace_back(linear(last, options_.head_width)));
      last = options_.head_width;
    }
  }
  if (options_.head == WordHead::tied) {
    output_bias_ = register_parameter("output_bias", torch::zeros({V}));
  } else {
    output_ = register_module("output", linear(last, V));
  }
}

PictureTokens TransformerDecoderImpl::look_at(const torch::Tensor& visual) {
  check_shape(visual, "visual", {"B", {"K", options_.visual_width}, "H", "W"}, kOp);
  check_floating(visual, "visual", kOp);
  const int64_t rows = visual.size(2), cols = visual.size(3);
  const torch::Tensor cells = options_.class_evidence ? visual.softmax(1) : visual;
  torch::Tensor x = visual_(cells.flatten(2).transpose(1, 2));  // [B, S, D]
  if (visual_norm_) x = visual_norm_(x);
  const torch::Tensor positions =
      grid_sinusoidal_positions(rows, cols, options_.width).to(x.options());  // [S, D]
  if (!options_.layer_positions) x = x + positions;
  x = dropout_(x);
  for (TransformerEncoderLayer& layer : encoder_) {
    x = layer->forward(x, {}, AttentionWeights::none, options_.layer_positions ? positions : torch::Tensor())
            .output;
  }
  if (encoder_norm_) x = encoder_norm_(x);
  if (options_.layer_positions) x = torch::cat({x, positions.expand_as(x)}, 2);  // [B, S, 2 D]
  return {x, rows, cols};
}

TransformerDecoderImpl::Memory TransformerDecoderImpl::split(const torch::Tensor& memory) const {
  const int64_t D = options_.width;
  if (!options_.layer_positions) {
    check_shape(memory, "memory", {"B", "S", {"D", D}}, kOp);
    return {memory, {}};
  }
  check_shape(memory, "memory", {"B", "S", {"2 D", 2 * D}}, kOp);
  return {memory.narrow(2, 0, D), memory.narrow(2, D, D)};
}

torch::Tensor TransformerDecoderImpl::places(int64_t first, int64_t length) const {
  if (learned_) return learned_->at(first, length);
  return sinusoidal_.narrow(0, first, length).to(embedding_->weight.options());
}

torch::Tensor TransformerDecoderImpl::embed(const torch::Tensor& tokens, const torch::Tensor& places) {
  torch::Tensor x = embedding_(tokens);
  if (options_.scale_embedding) x = x * std::sqrt(static_cast<double>(options_.width));
  x = x + places;
  if (embedding_norm_) x = embedding_norm_(x);
  return dropout_(x);
}

torch::Tensor TransformerDecoderImpl::logits(const torch::Tensor& x) {
  torch::Tensor y = norm_ ? norm_(x) : x;
  for (const torch::nn::Linear& layer : hidden_) y = ops::linear(y, layer->weight, layer->bias).relu_();
  if (options_.head == WordHead::tied) return ops::linear(y, embedding_->weight, output_bias_);
  return ops::linear(y, output_->weight, output_->bias);
}

torch::Tensor TransformerDecoderImpl::forward(const torch::Tensor& tokens, const torch::Tensor& memory) {
  const Memory of = split(memory);
  check_shape(tokens, "tokens", {{"B", memory.size(0)}, "T"}, kOp);
  check_that(tokens.size(1) <= options_.max_tokens, kOp,
             fmt::format("T <= max_tokens {}", options_.max_tokens), fmt::format("T {}", tokens.size(1)));
  const torch::Tensor at = places(0, tokens.size(1));  // [T, D]
  LayerPositions positions;
  if (options_.layer_positions) positions = {at, of.positions};
  torch::Tensor x = embed(tokens, at);  // [B, T, D]
  for (TransformerDecoderLayer& layer : layers_)
    x = layer->forward(x, of.cells, {}, AttentionWeights::none, positions).output;
  return logits(x);  // [B, T, V]
}

std::unique_ptr<StepDecoder> TransformerDecoderImpl::start(const torch::Tensor& memory, int64_t beam) {
  check_at_least(beam, 1, "beam");
  return std::make_unique<TransformerSteps>(*this, memory, beam);
}

nlohmann::json TransformerDecoderImpl::describe() const {
  nlohmann::json description = to_json(options_);
  description["kind"] = "transformer";
  return description;
}

}  // namespace gaze::models
