#include "models/sequence/translator.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "models/decoder/decoder_options.h"
#include "models/decoder/vocabulary.h"
#include "modules/attention/positions.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "translator";

// The names of enumerators, in their order.
const std::vector<std::string> kEncoders{"lstm", "gru", "bidirectional_lstm", "bidirectional_gru",
                                         "transformer"};
const std::vector<std::string> kDecoders{"lstm", "gru"};
const std::vector<std::string> kScores{"additive", "dot", "general", "scaled_dot"};
const std::vector<std::string> kFusions{"concatenation", "addition", "gate"};

template <typename Enum>
Enum enumerator(const nlohmann::json& value, const std::string& name, const std::vector<std::string>& names) {
  const auto place = std::find(names.begin(), names.end(), value.get<std::string>());
  if (place == names.end()) fail_unknown(kOp, name, value.get<std::string>(), names);
  return static_cast<Enum>(place - names.begin());
}

void check_at_least(int64_t value, int64_t least, const char* name) {
  check_that(value >= least, kOp, fmt::format("{} >= {}", name, least), fmt::format("{} {}", name, value));
}

TranslatorOptions checked(const TranslatorOptions& options) {
  check_at_least(options.source_vocabulary, Vocabulary::kSpecials, "source_vocabulary");
  check_at_least(options.target_vocabulary, Vocabulary::kSpecials, "target_vocabulary");
  check_at_least(options.embedding, 1, "embedding");
  check_at_least(options.width, 2, "width");
  check_at_least(options.layers, 1, "layers");
  check_at_least(options.max_tokens, 2, "max_tokens");
  check_that(options.width % 2 == 0, kOp, "an even width", fmt::format("width {}", options.width));
  check_that(options.dropout >= 0 && options.dropout < 1, kOp, "dropout in [0, 1)",
             fmt::format("dropout {}", options.dropout));
  return options;
}

bool is_bidirectional(EncoderKind kind) {
  return kind == EncoderKind::bidirectional_lstm || kind == EncoderKind::bidirectional_gru;
}

}  // namespace

nlohmann::json to_json(const TranslatorOptions& options) {
  const auto word = [](const std::vector<std::string>& names, auto value) {
    return names[static_cast<size_t>(value)];
  };
  return {{"source_vocabulary", options.source_vocabulary},
          {"target_vocabulary", options.target_vocabulary},
          {"encoder", word(kEncoders, options.encoder)},
          {"decoder", word(kDecoders, options.decoder)},
          {"attention", options.attention},
          {"score", word(kScores, options.score)},
          {"fusion", word(kFusions, options.fusion)},
          {"embedding", options.embedding},
          {"width", options.width},
          {"layers", options.layers},
          {"heads", options.heads},
          {"dropout", options.dropout},
          {"max_tokens", options.max_tokens}};
}

TranslatorOptions translator_options_from_json(const nlohmann::json& json) {
  TranslatorOptions options;
  const nlohmann::json all =
      filled_options(json, to_json(options), kOp, {"source_vocabulary", "target_vocabulary"});
  options.source_vocabulary = all["source_vocabulary"];
  options.target_vocabulary = all["target_vocabulary"];
  options.encoder = enumerator<EncoderKind>(all["encoder"], "encoder", kEncoders);
  options.decoder = enumerator<RecurrentKind>(all["decoder"], "decoder", kDecoders);
  options.attention = all["attention"];
  options.score = enumerator<AttentionScore>(all["score"], "score", kScores);
  options.fusion = enumerator<FusionKind>(all["fusion"], "fusion", kFusions);
  options.embedding = all["embedding"];
  options.width = all["width"];
  options.layers = all["layers"];
  options.heads = all["heads"];
  options.dropout = all["dropout"];
  options.max_tokens = all["max_tokens"];
  return checked(options);
}

TranslatorImpl::TranslatorImpl(const TranslatorOptions& options) : options_(checked(options)) {
  using namespace torch::nn;
  const int64_t E = options_.embedding, D = options_.width;
  const auto embedding = [&](const char* name, int64_t tokens) {
    return register_module(name, Embedding(EmbeddingOptions(tokens, E).padding_idx(Vocabulary::kPad)));
  };
  source_embedding_ = embedding("source_embedding", options_.source_vocabulary);
  target_embedding_ = embedding("target_embedding", options_.target_vocabulary);
  const bool both = is_bidirectional(options_.encoder);
  const double between = options_.layers > 1 ? options_.dropout : 0;
  const auto recurrent = [&](auto recurrent_options) {
    return recurrent_options.num_layers(options_.layers)
        .batch_first(true)
        .bidirectional(both)
        .dropout(between);
  };
  switch (options_.encoder) {
    case EncoderKind::lstm:
    case EncoderKind::bidirectional_lstm:
      lstm_encoder_ = register_module("encoder", LSTM(recurrent(LSTMOptions(E, both ? D / 2 : D))));
      break;
    case EncoderKind::gru:
    case EncoderKind::bidirectional_gru:
      gru_encoder_ = register_module("encoder", GRU(recurrent(GRUOptions(E, both ? D / 2 : D))));
      break;
    case EncoderKind::transformer: {
      widen_ = register_module("widen", Linear(E, D));
      ModuleList layers = register_module("encoder", ModuleList());
      TransformerLayerOptions layer;
      layer.width = D;
      layer.heads = options_.heads;
      layer.dropout = options_.dropout;
      layer.norm_first = true;
      for (int64_t i = 0; i < options_.layers; ++i) {
        layers_.emplace_back(layer);
        layers->push_back(layers_.back());
      }
    }
  }
  bridge_ = register_module("bridge", Linear(D, D));
  if (options_.decoder == RecurrentKind::lstm) {
    lstm_decoder_ = register_module("decoder", LSTM(LSTMOptions(E, D).batch_first(true)));
  } else {
    gru_decoder_ = register_module("decoder", GRU(GRUOptions(E, D).batch_first(true)));
  }
  if (options_.attention) {
    GlobalAttentionOptions attention;
    attention.query_width = D;
    attention.score = options_.score;
    attention_ = register_module("attention", GlobalAttention(attention));
  }
  ContextFusionOptions fusion;
  fusion.state_width = D;
  fusion.kind = options_.fusion;
  fusion_ = register_module("fusion", ContextFusion(fusion));
  hidden_ = register_module("hidden", Linear(fusion_->output_width(), D));
  output_ = register_module("output", Linear(D, options_.target_vocabulary));
  dropout_ = register_module("dropout", Dropout(options_.dropout));
}

EncodedSource TranslatorImpl::encode(const torch::Tensor& source) {
  check_shape(source, "source", {"B", "S"}, kOp);
  check_that(source.scalar_type() == torch::kLong, kOp, "source int64",
             fmt::format("source {}", c10::toString(source.scalar_type())));
  EncodedSource encoded;
  encoded.mask = source.ne(Vocabulary::kPad);         // [B, S]
  const torch::Tensor lengths = encoded.mask.sum(1);  // [B]
  check_that(source.size(0) > 0 && lengths.min().item<int64_t>() > 0, kOp, "sources with tokens",
             source.size(0) == 0 ? "no source" : "one without");
  const torch::Tensor embedded = dropout_(source_embedding_(source));  // [B, S, E]
  if (options_.encoder == EncoderKind::transformer) {
    encoded.memory = run_transformer(embedded, encoded.mask);
    encoded.summary = encoded.memory.sum(1) / lengths.unsqueeze(1);  // [B, D]
  } else {
    encoded.memory = run_encoder(embedded, lengths, encoded.summary);
  }
  if (options_.attention) encoded.keys = attention_->project(encoded.memory);
  return encoded;
}

// embedded [B, S, E] -> outputs [B, S, D], 0 behind each end, and the last layer's last states [B, D].
torch::Tensor TranslatorImpl::run_encoder(const torch::Tensor& embedded, const torch::Tensor& lengths,
                                          torch::Tensor& summary) {
  namespace rnn = torch::nn::utils::rnn;
  const auto packed = rnn::pack_padded_sequence(embedded, lengths.cpu(), /*batch_first=*/true,
                                                /*enforce_sorted=*/false);
  // last [layers * directions, B, D / directions]
  const auto finish = [&](const rnn::PackedSequence& outputs, const torch::Tensor& last) {
    const int64_t directions = is_bidirectional(options_.encoder) ? 2 : 1;
    summary = last.narrow(0, last.size(0) - directions, directions).transpose(0, 1).flatten(1);  // [B, D]
    return std::get<0>(rnn::pad_packed_sequence(outputs, /*batch_first=*/true, 0.0, embedded.size(1)));
  };
  if (lstm_encoder_) {
    const auto [outputs, states] = lstm_encoder_->forward_with_packed_input(packed);
    return finish(outputs, std::get<0>(states));
  }
  const auto [outputs, last] = gru_encoder_->forward_with_packed_input(packed);
  return finish(outputs, last);
}

// embedded [B, S, E], mask [B, S] -> [B, S, D], 0 behind each end.
torch::Tensor TranslatorImpl::run_transformer(const torch::Tensor& embedded, const torch::Tensor& mask) {
  torch::Tensor x = widen_(embedded);
  x = x + sinusoidal_positions(0, x.size(1), options_.width).to(x.options());
  const AttentionMask padding{{}, mask.logical_not()};
  for (TransformerEncoderLayer& layer : layers_) x = layer->forward(x, padding).output;
  return x * mask.unsqueeze(2);
}

TranslatorImpl::States TranslatorImpl::first_states(const torch::Tensor& summary) {
  const torch::Tensor first = torch::tanh(bridge_(summary)).unsqueeze(0).contiguous();  // [1, B, D]
  if (lstm_decoder_) return {first, torch::zeros_like(first)};
  return {first};
}

torch::Tensor TranslatorImpl::run_decoder(const torch::Tensor& tokens, States& states) {
  const torch::Tensor embedded = dropout_(target_embedding_(tokens));  // [R, T, E]
  if (lstm_decoder_) {
    auto [outputs, next] = lstm_decoder_->forward(embedded, std::make_tuple(states[0], states[1]));
    states = {std::get<0>(next), std::get<1>(next)};
    return outputs;
  }
  auto [outputs, next] = gru_decoder_->forward(embedded, states[0]);
  states = {next};
  return outputs;
}

// states [B, T, D] -> logits of the tokens after each.
Translated TranslatorImpl::read(const torch::Tensor& states, const EncodedSource& source) {
  Translated result;
  torch::Tensor context;  // [B, T, D]
  if (options_.attention) {
    const AttendedMemory seen = attention_->attend_projected(states, source.keys, source.memory, source.mask);
    context = seen.context;
    result.weights = seen.weights;
  } else {
    context = source.summary.unsqueeze(1).expand_as(states);
  }
  result.logits = output_(dropout_(torch::tanh(hidden_(fusion_->forward(states, context)))));
  return result;
}

Translated TranslatorImpl::forward(const torch::Tensor& target, const EncodedSource& source) {
  check_shape(target, "target", {{"B", source.memory.size(0)}, "T"}, kOp);
  States states = first_states(source.summary);
  return read(run_decoder(target, states), source);
}

TranslationSteps::TranslationSteps(Translator translator, const EncodedSource& source, int64_t beam)
    : translator_(std::move(translator)), source_(source), beam_(beam) {
  states_ = translator_->first_states(source.summary.repeat_interleave(beam, 0));
}

int64_t TranslationSteps::inputs() const {
  return source_.memory.size(0);
}

DecoderStep TranslationSteps::step(const torch::Tensor& tokens) {
  const torch::Tensor states = translator_->run_decoder(tokens.unsqueeze(1), states_);  // [R, 1, D]
  // A source's hypotheses are the queries of one row.
  const int64_t B = inputs();
  const Translated read = translator_->read(states.view({B, beam_, states.size(2)}), source_);
  DecoderStep next;
  next.log_probabilities = read.logits.flatten(0, 1).to(torch::kFloat).log_softmax(1);  // [R, V]
  next.map = read.weights.defined() ? read.weights.flatten(0, 1).unsqueeze(1)           // [R, 1, S]
                                    : torch::zeros({B * beam_, 1, source_.memory.size(1)});
  return next;
}

void TranslationSteps::reorder(const torch::Tensor& rows) {
  for (torch::Tensor& state : states_) state = state.index_select(1, rows);
  const torch::Tensor sources = sources_of(rows, beam_);
  if (sources.size(0) == inputs() && sources.equal(torch::arange(inputs()))) return;
  for (torch::Tensor* const part : {&source_.memory, &source_.keys, &source_.mask, &source_.summary}) {
    if (part->defined()) *part = part->index_select(0, sources);
  }
}

}  // namespace gaze::models
