// Token sequence -> token sequence, with attention that can be read as an alignment (Bahdanau et al. 2015,
// Luong et al. 2015).
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/decoder/search.h"
#include "modules/attention/context_fusion.h"
#include "modules/attention/global_attention.h"
#include "modules/attention/transformer.h"

namespace gaze::models {

enum class EncoderKind { lstm, gru, bidirectional_lstm, bidirectional_gru, transformer };
enum class RecurrentKind { lstm, gru };

struct TranslatorOptions {
  int64_t source_vocabulary = 0, target_vocabulary = 0;
  EncoderKind encoder = EncoderKind::bidirectional_lstm;
  RecurrentKind decoder = RecurrentKind::lstm;
  // Without attention every target token is read from one summary of the source instead.
  bool attention = true;
  AttentionScore score = AttentionScore::additive;
  FusionKind fusion = FusionKind::concatenation;
  int64_t embedding = 128;  // width of a token
  int64_t width = 256;      // D, of the decoder's states and the encoder's outputs; even
  int64_t layers = 1;       // of the encoder
  int64_t heads = 4;        // of a Transformer encoder
  double dropout = 0.1;     // in training
  int64_t max_tokens = 64;  // longest target, end token included
};
nlohmann::json to_json(const TranslatorOptions& options);
// Keys that are missing keep their defaults, except the vocabularies. Throws ArgumentError naming a wrong or
// unknown key.
TranslatorOptions translator_options_from_json(const nlohmann::json& json);

// A batch of sources: tokens [B, S] int64, kPad behind each end.
struct EncodedSource {
  torch::Tensor memory;   // [B, S, D]
  torch::Tensor keys;     // what the attention projects memory to
  torch::Tensor mask;     // [B, S] bool, true where a token is
  torch::Tensor summary;  // [B, D]
};

struct Translated {
  torch::Tensor logits;   // [B, T, V] of the next tokens
  torch::Tensor weights;  // [B, T, S]; undefined without attention
};

// embedding of the source -> encoder -> memory h_1 .. h_S, padded places left out;
// s_0 = tanh(W · summary), summary the encoder's last states (of both directions) or, of a Transformer, the
// mean of its outputs; s_t = recurrent(embedding of y_t-1, s_t-1);
// c_t = attention(s_t over h), without attention the summary;  logits = W_o · tanh(W_f · fuse(s_t, c_t)).
//
// State keys: source_embedding.weight, target_embedding.weight, encoder.* (PyTorch's nn.LSTM or nn.GRU, or
// layers.N.* of TransformerEncoderLayer), bridge.*, decoder.* (nn.LSTM or nn.GRU), attention.*
// (GlobalAttention), fusion.* (ContextFusion), hidden.*, output.*.
class TranslatorImpl : public torch::nn::Module {
 public:
  // Throws ArgumentError for sizes below 1, an odd width, and a width that the heads cannot share.
  explicit TranslatorImpl(const TranslatorOptions& options);

  // Throws ArgumentError for a source without tokens, or one that is not [B, S] int64.
  EncodedSource encode(const torch::Tensor& source);

  // Teacher forcing. target [B, T] int64 (start token first) -> logits of the next tokens.
  Translated forward(const torch::Tensor& target, const EncodedSource& source);

  const TranslatorOptions& options() const { return options_; }

 private:
  friend class TranslationSteps;
  using States = std::vector<torch::Tensor>;  // h, and c of an LSTM: [1, R, D]

  torch::Tensor run_encoder(const torch::Tensor& embedded, const torch::Tensor& lengths,
                            torch::Tensor& summary);
  torch::Tensor run_transformer(const torch::Tensor& embedded, const torch::Tensor& mask);
  States first_states(const torch::Tensor& summary);
  torch::Tensor run_decoder(const torch::Tensor& tokens, States& states);  // -> [R, T, D]
  Translated read(const torch::Tensor& states, const EncodedSource& source);

  TranslatorOptions options_;
  torch::nn::Embedding source_embedding_{nullptr}, target_embedding_{nullptr};
  torch::nn::LSTM lstm_encoder_{nullptr}, lstm_decoder_{nullptr};
  torch::nn::GRU gru_encoder_{nullptr}, gru_decoder_{nullptr};
  std::vector<TransformerEncoderLayer> layers_;
  torch::nn::Linear widen_{nullptr};  // of embeddings, to a Transformer's width
  torch::nn::Linear bridge_{nullptr}, hidden_{nullptr}, output_{nullptr};
  GlobalAttention attention_{nullptr};
  ContextFusion fusion_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};
TORCH_MODULE(Translator);

// The translator's steps for search(): the maps are [R, 1, S], of zeros without attention.
class TranslationSteps : public StepDecoder {
 public:
  TranslationSteps(Translator translator, const EncodedSource& source, int64_t beam);

  int64_t max_tokens() const override { return translator_->options().max_tokens; }
  int64_t inputs() const override;
  DecoderStep step(const torch::Tensor& tokens) override;
  void reorder(const torch::Tensor& rows) override;

 private:
  Translator translator_;
  EncodedSource source_;  // a row a hypothesis
  TranslatorImpl::States states_;
  int64_t beam_;
};

}  // namespace gaze::models
