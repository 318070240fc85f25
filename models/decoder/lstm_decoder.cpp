#include "models/decoder/lstm_decoder.h"

#include <fmt/format.h>
#include <torch/nn/functional/pooling.h>
#include <torch/nn/init.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "models/decoder/decoder_options.h"
#include "modules/attention/positions.h"
#include "modules/core/check.h"
#include "modules/ops/additive_attend/additive_attend.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "lstm_decoder";

void check_at_least(int64_t value, int64_t least, const char* name) {
  check_that(value >= least, kOp, fmt::format("{} >= {}", name, least), fmt::format("{} {}", name, value));
}

LstmDecoderOptions checked(const LstmDecoderOptions& options) {
  check_at_least(options.vocabulary, 1, "vocabulary");
  check_at_least(options.visual_width, 1, "visual_width");
  check_at_least(options.grid, 0, "grid");
  check_at_least(options.embedding, 1, "embedding");
  check_at_least(options.attention, 1, "attention");
  check_at_least(options.hidden, 1, "hidden");
  check_at_least(options.max_tokens, 2, "max_tokens");
  check_class_groups(options, options.visual_width, options.vocabulary, options.class_evidence, kOp);
  check_that(options.group_words.empty() || options.embedding % 4 == 0, kOp,
             "embedding a multiple of 4 with group_words", fmt::format("embedding {}", options.embedding));
  check_that(options.deep_output || !options.tie, kOp, "tie with deep_output", "tie alone");
  check_that((options.deep_output && !options.group_words.empty()) || !options.copy, kOp,
             "copy with deep_output and group_words", "copy alone");
  check_that(options.dropout >= 0 && options.dropout < 1, kOp, "dropout in [0, 1)",
             fmt::format("dropout {}", options.dropout));
  return options;
}

}  // namespace

nlohmann::json to_json(const LstmDecoderOptions& options) {
  nlohmann::json json = {{"vocabulary", options.vocabulary},
                         {"visual_width", options.visual_width},
                         {"class_evidence", options.class_evidence},
                         {"grid", options.grid},
                         {"embedding", options.embedding},
                         {"attention", options.attention},
                         {"hidden", options.hidden},
                         {"tanh_scores", options.tanh_scores},
                         {"tanh_start", options.tanh_start},
                         {"deep_output", options.deep_output},
                         {"tie", options.tie},
                         {"copy", options.copy},
                         {"max_tokens", options.max_tokens},
                         {"dropout", options.dropout}};
  add_class_groups(options, json);
  return json;
}

LstmDecoderOptions lstm_decoder_options_from_json(const nlohmann::json& json) {
  LstmDecoderOptions options;
  const nlohmann::json all = filled_options(json, to_json(options), kOp);
  options.vocabulary = all["vocabulary"];
  options.visual_width = all["visual_width"];
  options.class_evidence = all["class_evidence"];
  options.grid = all["grid"];
  options.embedding = all["embedding"];
  options.attention = all["attention"];
  options.hidden = all["hidden"];
  options.tanh_scores = all["tanh_scores"];
  options.tanh_start = all["tanh_start"];
  options.deep_output = all["deep_output"];
  options.tie = all["tie"];
  options.copy = all["copy"];
  static_cast<ClassGroups&>(options) = class_groups_of(all);
  options.max_tokens = all["max_tokens"];
  options.dropout = all["dropout"];
  return checked(options);
}

// Hypotheses of B pictures, `beam` rows each: cells and their projection are kept once a picture.
class LstmSteps : public StepDecoder {
 public:
  LstmSteps(LstmDecoderImpl& decoder, const torch::Tensor& memory, int64_t beam)
      : decoder_(decoder), beam_(beam), memory_(memory), keys_(decoder.project_cells_(memory)) {
    const LstmDecoderImpl::State first = decoder.first_state(memory);
    state_ = {first.hidden.repeat_interleave(beam, 0), first.cell.repeat_interleave(beam, 0)};  // [R, H]
  }

  int64_t max_tokens() const override { return decoder_.max_tokens(); }
  int64_t inputs() const override { return memory_.size(0); }

  DecoderStep step(const torch::Tensor& tokens) override {
    check_shape(tokens, "tokens", {{"R", state_.hidden.size(0)}}, kOp);
    const torch::Tensor hidden = state_.hidden.view({inputs(), beam_, -1});  // [B, beam, H]
    const LstmDecoderImpl::Attended at = decoder_.attend(hidden, keys_, memory_);
    const torch::Tensor words = decoder_.embedding_(tokens);                         // [R, E]
    const torch::Tensor context = decoder_.gated(at.context.flatten(0, 1), state_);  // [R, C]
    state_ = decoder_.advance(words, context, state_);
    return {decoder_.logits(words, context, state_.hidden).to(torch::kFloat).log_softmax(1),
            at.weights.flatten(0, 1).unsqueeze(1)};  // [R, V], [R, 1, S]
  }

  void reorder(const torch::Tensor& rows) override {
    const torch::Tensor pictures = sources_of(rows, beam_);
    state_ = {state_.hidden.index_select(0, rows), state_.cell.index_select(0, rows)};
    if (pictures.equal(torch::arange(inputs()))) return;
    memory_ = memory_.index_select(0, pictures);
    keys_ = keys_.index_select(0, pictures);
  }

 private:
  LstmDecoderImpl& decoder_;
  int64_t beam_;
  torch::Tensor memory_;  // [B, S, C]
  torch::Tensor keys_;    // [B, S, A]
  LstmDecoderImpl::State state_;
};

LstmDecoderImpl::LstmDecoderImpl(const LstmDecoderOptions& options)
    : EvidenceDecoder(checked(options), options.visual_width, options.vocabulary, kOp),
      options_(options),
      cell_width_(has_group_words() ? options.embedding : group_count()) {
  using namespace torch::nn;
  const int64_t C = cell_width_, E = options_.embedding, A = options_.attention, H = options_.hidden,
                V = options_.vocabulary;
  add_group_words(E);
  if (has_group_words()) visual_norm_ = register_module("visual_norm", LayerNorm(LayerNormOptions({E})));
  embedding_ = register_module("embedding", Embedding(V, E));
  project_cells_ = register_module("project_cells", Linear(C, A));
  project_state_ = register_module("project_state", Linear(H, A));
  score_ = register_module("score", Linear(A, 1));
  start_hidden_ = register_module("start_hidden", Linear(C, H));
  start_memory_ = register_module("start_memory", Linear(C, H));
  gate_ = register_module("gate", Linear(H, C));
  cell_ = register_module("cell", LSTMCell(E + C, H));
  if (options_.deep_output) {
    state_out_ = register_module("state_out", Linear(H, E));
    context_out_ = register_module("context_out", Linear(LinearOptions(C, E).bias(false)));
    if (options_.copy) init::eye_(context_out_->weight);
  }
  if (options_.tie) {
    output_bias_ = register_parameter("output_bias", torch::zeros({V}));
  } else {
    output_ = register_module("output", Linear(options_.deep_output ? E : H, V));
    init::uniform_(output_->weight, -0.1, 0.1);
    init::zeros_(output_->bias);
  }
  dropout_ = register_module("dropout", Dropout(options_.dropout));
  init::uniform_(embedding_->weight, -0.1, 0.1);
}

PictureTokens LstmDecoderImpl::look_at(const torch::Tensor& visual) {
  check_shape(visual, "visual", {"B", {"K", options_.visual_width}, "H", "W"}, kOp);
  check_floating(visual, "visual", kOp);
  torch::Tensor cells = visual;
  if (options_.class_evidence) {
    cells = group_probabilities(visual.flatten(2).transpose(1, 2))
                .transpose(1, 2)
                .unflatten(2, visual.sizes().slice(2));  // [B, G, h, w]
  }
  if (options_.grid > 0) cells = torch::adaptive_avg_pool2d(cells, {options_.grid, options_.grid});
  const int64_t rows = cells.size(2), cols = cells.size(3);
  return {embed_cells(cells.flatten(2).transpose(1, 2), rows, cols), rows, cols};
}

torch::Tensor LstmDecoderImpl::embed_cells(const torch::Tensor& cells, int64_t rows, int64_t cols) {
  check_shape(cells, "cells", {"B", {"S", rows * cols}, {"G", group_count()}}, kOp);
  if (!has_group_words()) return cells.contiguous();
  const torch::Tensor named = visual_norm_(named_cells(cells, embedding_->weight));  // [B, S, E]
  return named + grid_positions(rows, cols, options_.embedding).to(named.options());
}

LstmDecoderImpl::State LstmDecoderImpl::first_state(const torch::Tensor& memory) {
  const torch::Tensor mean = memory.mean(1);  // [B, C]
  State state{start_hidden_(mean), start_memory_(mean)};
  if (options_.tanh_start) state = {state.hidden.tanh(), state.cell.tanh()};
  return state;
}

LstmDecoderImpl::Attended LstmDecoderImpl::attend(const torch::Tensor& hidden, const torch::Tensor& keys,
                                                  const torch::Tensor& memory) {
  const torch::Tensor queries = project_state_(hidden);  // [B, N, A]
  if (options_.tanh_scores) {
    // The bias of the scores moves all alike, which a softmax does not see.
    const ops::AdditiveAttended at = ops::additive_attend(queries, keys, score_->weight.squeeze(0), memory);
    return {at.context, at.weights};
  }
  const torch::Tensor compared = (keys.unsqueeze(1) + queries.unsqueeze(2)).relu_();  // [B, N, S, A]
  const torch::Tensor weights = score_(compared).squeeze(3).softmax(2);               // [B, N, S]
  return {weights.matmul(memory), weights};
}

torch::Tensor LstmDecoderImpl::gated(const torch::Tensor& context, const State& before) {
  return gate_(before.hidden).sigmoid_() * context;
}

LstmDecoderImpl::State LstmDecoderImpl::advance(const torch::Tensor& words, const torch::Tensor& context,
                                                const State& before) {
  const auto [hidden, cell] =
      cell_(torch::cat({words, context}, 1), std::make_tuple(before.hidden, before.cell));
  return {hidden, cell};
}

torch::Tensor LstmDecoderImpl::logits(const torch::Tensor& words, const torch::Tensor& context,
                                      const torch::Tensor& hidden) {
  if (!options_.deep_output) return output_(dropout_(hidden));
  const torch::Tensor x = dropout_(words + state_out_(hidden) + context_out_(context));  // [..., E]
  return options_.tie ? torch::linear(x, embedding_->weight, output_bias_) : output_(x);
}

ForcedWords LstmDecoderImpl::force(const torch::Tensor& tokens, const torch::Tensor& memory) {
  check_shape(memory, "memory", {"B", "S", {"C", cell_width_}}, kOp);
  check_shape(tokens, "tokens", {{"B", memory.size(0)}, "T"}, kOp);
  check_that(tokens.size(1) <= options_.max_tokens, kOp,
             fmt::format("T <= max_tokens {}", options_.max_tokens), fmt::format("T {}", tokens.size(1)));
  const torch::Tensor keys = project_cells_(memory);  // [B, S, A]
  const torch::Tensor words = embedding_(tokens);     // [B, T, E]
  State state = first_state(memory);
  std::vector<torch::Tensor> hidden, contexts, weights;
  for (int64_t t = 0; t < tokens.size(1); ++t) {
    const Attended at = attend(state.hidden.unsqueeze(1), keys, memory);
    contexts.push_back(gated(at.context.squeeze(1), state));
    state = advance(words.select(1, t), contexts.back(), state);
    hidden.push_back(state.hidden);
    weights.push_back(at.weights);
  }
  return {logits(words, torch::stack(contexts, 1), torch::stack(hidden, 1)), torch::cat(weights, 1)};
}

std::unique_ptr<StepDecoder> LstmDecoderImpl::start(const torch::Tensor& memory, int64_t beam) {
  check_shape(memory, "memory", {"B", "S", {"C", cell_width_}}, kOp);
  check_at_least(beam, 1, "beam");
  return std::make_unique<LstmSteps>(*this, memory, beam);
}

nlohmann::json LstmDecoderImpl::describe() const {
  nlohmann::json description = to_json(options_);
  description["kind"] = "lstm";
  return description;
}

torch::Tensor doubly_stochastic_loss(const torch::Tensor& weights, const torch::Tensor& lengths) {
  check_shape(weights, "weights", {"B", "T", "S"}, kOp);
  check_floating(weights, "weights", kOp);
  check_shape(lengths, "lengths", {{"B", weights.size(0)}}, kOp);
  const torch::Tensor said = torch::arange(weights.size(1)).unsqueeze(0) < lengths.unsqueeze(1);  // [B, T]
  const torch::Tensor seen = (weights * said.unsqueeze(2)).sum(1);                                // [B, S]
  return (1 - seen).square().mean();
}

}  // namespace gaze::models
