// Visual tokens -> words: an LSTM with soft additive attention over the picture's cells (Xu et al. 2015,
// "Show, Attend and Tell").
#pragma once

#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "models/decoder/evidence_decoder.h"

namespace gaze::models {

struct LstmDecoderOptions : ClassGroups {  // groups: of class evidence only
  int64_t vocabulary = 0;                  // V
  int64_t visual_width = 2048;             // K, channels of a cell
  // Cells are the probabilities of the network's classes, or of their groups, not its features.
  bool class_evidence = false;
  // The network's grid is pooled to grid x grid cells, bins as adaptive_avg_pool2d has them; 0: as it is.
  int64_t grid = 14;
  int64_t embedding = 512;   // E, width of a word
  int64_t attention = 512;   // A, width in which states and cells are compared
  int64_t hidden = 512;      // H
  bool tanh_scores = true;   // as the paper's code; else ReLU, as sgrvinod's tutorial
  bool tanh_start = true;    // of h_0 and c_0, as the paper's code; else linear, as the tutorial
  bool deep_output = false;  // words are chosen by the word before and the context too (equation 7)
  bool tie = false;          // of deep_output: W_o is the embedding's transpose, with its own bias
  bool copy = false;         // of deep_output and group_words: W_z starts as 1; matters at creation only
  int64_t max_tokens = 51;   // longest caption, end token included
  double dropout = 0.5;      // in training, of what W_o reads
};
nlohmann::json to_json(const LstmDecoderOptions& options);
// Keys that are missing keep their defaults, except `vocabulary`. Throws ArgumentError naming a wrong or
// unknown key.
LstmDecoderOptions lstm_decoder_options_from_json(const nlohmann::json& json);

// Cells a_1 .. a_S of the picture, a their mean:
//   h_0 = f(W_h a + b_h), c_0 = f(W_c a + b_c);
//   e_ts = v . g(W_a a_s + b_a + W_s h_t-1 + b_s) + b_v, alpha_t = softmax over s of e_t, z_t = sum alpha_ts
//   a_s; beta_t = sigmoid(W_b h_t-1 + b_b), C gates; h_t, c_t = LSTMCell([embedding of word t-1; beta_t *
//   z_t], h_t-1, c_t-1);  logits = W_o h_t + b_o, or with deep_output W_o (embedding of word t-1 + W_d h_t +
//   b_d + W_z beta_t * z_t) + b_o
// with f tanh or nothing, g tanh or ReLU. The map of word t is alpha_t, which the state before the word
// chose.
//
// A cell is the network's features or, of class evidence, g [G] of EvidenceDecoder (C = G) or, with
// group_words, LayerNorm(the words' embeddings times g) + grid_positions (C = E).
//
// State keys: embedding.weight [V, E]; project_cells.* [A, C], project_state.* [A, H], score.* [1, A];
// start_hidden.*, start_memory.* [H, C]; gate.* [C, H]; cell.* (nn.LSTMCell of E + C and H); output.* [V, H].
// With deep_output: state_out.* [E, H], context_out.weight [E, C], output.* [V, E] or, tied, output_bias [V].
// With groups: extra.*, nameless, visual_norm.*.
class LstmDecoderImpl : public EvidenceDecoder {
 public:
  // Throws ArgumentError for sizes below 1.
  explicit LstmDecoderImpl(const LstmDecoderOptions& options);

  VisualInput visual_input() const override {
    return options_.class_evidence ? VisualInput::class_evidence : VisualInput::features;
  }
  int64_t visual_width() const override { return options_.visual_width; }
  int64_t vocabulary() const override { return options_.vocabulary; }
  int64_t max_tokens() const override { return options_.max_tokens; }
  PictureTokens look_at(const torch::Tensor& visual) override;
  torch::Tensor embed_cells(const torch::Tensor& cells, int64_t rows, int64_t cols) override;
  ForcedWords force(const torch::Tensor& tokens, const torch::Tensor& memory) override;
  std::unique_ptr<StepDecoder> start(const torch::Tensor& memory, int64_t beam) override;
  nlohmann::json describe() const override;

  const LstmDecoderOptions& options() const { return options_; }

 private:
  friend class LstmSteps;
  struct State {
    torch::Tensor hidden, cell;  // [R, H]
  };
  struct Attended {
    torch::Tensor context;  // [B, N, C]
    torch::Tensor weights;  // [B, N, S]
  };

  State first_state(const torch::Tensor& memory);  // [B, H] each
  // Of N states of each picture, hidden [B, N, H]; keys [B, S, A] are the memory projected.
  Attended attend(const torch::Tensor& hidden, const torch::Tensor& keys, const torch::Tensor& memory);
  // context [R, C] times its gates beta.
  torch::Tensor gated(const torch::Tensor& context, const State& before);
  // words [R, E], context [R, C] gated.
  State advance(const torch::Tensor& words, const torch::Tensor& context, const State& before);
  // words [..., E], context [..., C] gated, hidden [..., H] -> [..., V].
  torch::Tensor logits(const torch::Tensor& words, const torch::Tensor& context, const torch::Tensor& hidden);

  LstmDecoderOptions options_;
  int64_t cell_width_;  // C
  torch::nn::LayerNorm visual_norm_{nullptr};
  torch::nn::Embedding embedding_{nullptr};
  torch::nn::Linear project_cells_{nullptr}, project_state_{nullptr}, score_{nullptr};
  torch::nn::Linear start_hidden_{nullptr}, start_memory_{nullptr}, gate_{nullptr};
  torch::nn::Linear state_out_{nullptr}, context_out_{nullptr}, output_{nullptr};
  torch::Tensor output_bias_;  // only when tied
  torch::nn::LSTMCell cell_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
};
TORCH_MODULE(LstmDecoder);

// The doubly stochastic term of Xu et al. (2015), sec. 4.2.1, to be added to the loss: the mean over pictures
// and cells of (1 - sum over t < lengths[b] of weights[b, t, s])^2. (The paper's code sums over cells: S
// times this.)
//   weights [B, T, S] floating; lengths [B] int64, words of each caption with its end token, in 0..T
//   -> a scalar
// Throws ArgumentError for shapes that do not fit.
torch::Tensor doubly_stochastic_loss(const torch::Tensor& weights, const torch::Tensor& lengths);

}  // namespace gaze::models
