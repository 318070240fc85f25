#include "models/decoder/lstm_decoder.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/decoder/search.h"
#include "modules/attention/positions.h"
#include "modules/core/error.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

LstmDecoderOptions small(bool tanh = true) {
  LstmDecoderOptions options;
  options.vocabulary = 9;
  options.visual_width = 6;
  options.grid = 3;
  options.embedding = 5;
  options.attention = 7;
  options.hidden = 8;
  options.tanh_scores = options.tanh_start = tanh;
  options.max_tokens = 6;
  return options;
}

// Cells are words, and words are chosen by what they see.
LstmDecoderOptions of_words() {
  LstmDecoderOptions options = small();
  options.grid = 0;
  options.embedding = 8;
  options.class_evidence = true;
  options.extra = 1;
  options.groups = {0, 1, 1, 2, 0, 2, 1};
  options.group_words = {7, -1, 5};
  options.deep_output = options.tie = true;
  return options;
}

LstmDecoder make(const LstmDecoderOptions& options, uint64_t seed = 3) {
  torch::manual_seed(seed);
  LstmDecoder decoder(options);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : decoder->parameters()) parameter.add_(0.3 * torch::randn_like(parameter));
  decoder->eval();
  return decoder;
}

using Vector = std::vector<double>;

// One picture, one caption, by the formulas of Xu et al. (2015), a number at a time.
class Loops {
 public:
  Loops(LstmDecoder& decoder, const torch::Tensor& cells)
      : tanh_(decoder->options().tanh_scores),
        deep_(decoder->options().deep_output),
        tie_(decoder->options().tie) {
    for (const auto& item : decoder->named_parameters())
      parameters_[item.key()] = item.value().to(torch::kDouble);
    for (int64_t s = 0; s < cells.size(0); ++s) cells_.push_back(vector_of(cells[s]));
    Vector mean(cells_[0].size(), 0.0);
    for (const Vector& cell : cells_) {
      for (size_t c = 0; c < cell.size(); ++c) mean[c] += cell[c] / static_cast<double>(cells_.size());
    }
    h_ = linear("start_hidden", mean);
    c_ = linear("start_memory", mean);
    if (!decoder->options().tanh_start) return;
    for (double& v : h_) v = std::tanh(v);
    for (double& v : c_) v = std::tanh(v);
  }

  // The weights of this word; then logits().
  Vector say(int64_t word) {
    const Vector state = linear("project_state", h_);
    Vector weights;
    double sum = 0;
    for (const Vector& cell : cells_) {
      Vector compared = linear("project_cells", cell);
      for (size_t a = 0; a < compared.size(); ++a) {
        const double x = compared[a] + state[a];
        compared[a] = tanh_ ? std::tanh(x) : std::max(0.0, x);
      }
      weights.push_back(std::exp(linear("score", compared)[0]));
      sum += weights.back();
    }
    for (double& weight : weights) weight /= sum;
    Vector input = vector_of(parameters_.at("embedding.weight")[word]);
    seen_ = input;
    const Vector gate = linear("gate", h_);
    for (size_t c = 0; c < gate.size(); ++c) {
      double z = 0;
      for (size_t s = 0; s < cells_.size(); ++s) z += weights[s] * cells_[s][c];
      context_.resize(gate.size());
      context_[c] = z / (1 + std::exp(-gate[c]));
      input.push_back(context_[c]);
    }
    const Vector from_input = linear("cell", input, "weight_ih", "bias_ih");
    const Vector from_state = linear("cell", h_, "weight_hh", "bias_hh");
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    const size_t H = h_.size();
    for (size_t j = 0; j < H; ++j) {
      const auto gate_of = [&](size_t g) { return from_input[g * H + j] + from_state[g * H + j]; };
      c_[j] = sigmoid(gate_of(1)) * c_[j] + sigmoid(gate_of(0)) * std::tanh(gate_of(2));
      h_[j] = sigmoid(gate_of(3)) * std::tanh(c_[j]);
    }
    return weights;
  }
  Vector logits() const {
    if (!deep_) return linear("output", h_);
    Vector x = linear("state_out", h_);
    const torch::Tensor& from_context = parameters_.at("context_out.weight");
    for (size_t e = 0; e < x.size(); ++e) {
      x[e] += seen_[e];
      for (size_t c = 0; c < context_.size(); ++c)
        x[e] += from_context[static_cast<int64_t>(e)][static_cast<int64_t>(c)].item<double>() * context_[c];
    }
    if (!tie_) return linear("output", x);
    Vector y = vector_of(parameters_.at("output_bias"));
    for (size_t v = 0; v < y.size(); ++v) {
      const Vector word = vector_of(parameters_.at("embedding.weight")[static_cast<int64_t>(v)]);
      for (size_t e = 0; e < x.size(); ++e) y[v] += word[e] * x[e];
    }
    return y;
  }

 private:
  static Vector vector_of(const torch::Tensor& tensor) {
    const torch::Tensor wide = tensor.to(torch::kDouble).contiguous();
    return {wide.const_data_ptr<double>(), wide.const_data_ptr<double>() + wide.numel()};
  }
  Vector linear(const std::string& layer, const Vector& x, const char* weight = "weight",
                const char* bias = "bias") const {
    const torch::Tensor& w = parameters_.at(layer + "." + weight);
    Vector y = vector_of(parameters_.at(layer + "." + bias));
    for (size_t i = 0; i < y.size(); ++i) {
      for (size_t j = 0; j < x.size(); ++j)
        y[i] += w[static_cast<int64_t>(i)][static_cast<int64_t>(j)].item<double>() * x[j];
    }
    return y;
  }

  bool tanh_, deep_, tie_;
  std::map<std::string, torch::Tensor> parameters_;
  std::vector<Vector> cells_;
  Vector h_, c_, seen_, context_;  // seen: the word before
};

TEST(LstmDecoder, is_the_formula_of_the_paper) {
  LstmDecoderOptions deep = small(), tied = of_words();
  deep.deep_output = true;
  for (const LstmDecoderOptions& options : {small(true), small(false), deep, tied}) {
    LstmDecoder decoder = make(options);
    const torch::Tensor memory = torch::randn({2, 4, options.group_words.empty() ? 6 : 8});
    const torch::Tensor tokens = torch::tensor({{1, 4, 5}, {1, 8, 0}});
    const torch::NoGradGuard no_grad;
    const ForcedWords found = decoder->force(tokens, memory);
    for (int64_t b = 0; b < 2; ++b) {
      Loops loops(decoder, memory[b]);
      for (int64_t t = 0; t < 3; ++t) {
        const Vector weights = loops.say(tokens[b][t].item<int64_t>());
        test::expect_near(found.weights[b][t], torch::tensor(weights, torch::kDouble), 1e-5, "weights");
        test::expect_near(found.logits[b][t], torch::tensor(loops.logits(), torch::kDouble), 1e-5, "logits");
      }
    }
  }
}

TEST(LstmDecoder, pools_the_network_s_grid) {
  LstmDecoder decoder = make(small());
  const torch::Tensor visual = torch::arange(6 * 2 * 6).view({1, 6, 2, 6}).to(torch::kFloat);
  const PictureTokens tokens = decoder->look_at(visual);
  EXPECT_EQ(tokens.rows, 3);
  EXPECT_EQ(tokens.cols, 3);
  EXPECT_EQ(tokens.memory.sizes(), (std::vector<int64_t>{1, 9, 6}));
  // Channel 0 is 0..5 over 6..11. Columns are pairs; the rows' bins are row 0, both, row 1.
  const std::vector<float> expected = {0.5, 2.5, 4.5, 3.5, 5.5, 7.5, 6.5, 8.5, 10.5};
  EXPECT_TRUE(tokens.memory[0].select(1, 0).equal(torch::tensor(expected)));

  LstmDecoderOptions options = small();
  options.grid = 0;
  EXPECT_EQ(make(options)->look_at(visual).memory.size(1), 12);
  options.class_evidence = true;
  const torch::Tensor evidence = make(options)->look_at(visual).memory;
  EXPECT_LT((evidence.sum(2) - 1).abs().max().item<double>(), 1e-5);
}

// The first group's classes are 0 and 4, the second's 1, 2 and the extra one, the third's 3 and 5.
TEST(LstmDecoder, cells_of_named_groups_are_their_words) {
  LstmDecoder decoder = make(of_words());
  const torch::NoGradGuard no_grad;
  auto parameters = decoder->named_parameters();
  parameters["visual_norm.weight"].fill_(1);
  parameters["visual_norm.bias"].zero_();
  const torch::Tensor visual = torch::randn({1, 6, 1, 2});
  const PictureTokens found = decoder->look_at(visual);
  EXPECT_EQ(found.cols, 2);
  for (int64_t s = 0; s < 2; ++s) {
    const torch::Tensor z = visual[0].select(2, s).squeeze(1);  // [6]
    const torch::Tensor extra = parameters["extra.weight"].mv(z - z.mean()) + parameters["extra.bias"];
    const torch::Tensor p = torch::cat({z, extra}).softmax(0);
    const torch::Tensor word = (p[0] + p[4]) * parameters["embedding.weight"][7] +
                               (p[1] + p[2] + p[6]) * parameters["nameless"][0] +
                               (p[3] + p[5]) * parameters["embedding.weight"][5];
    const torch::Tensor expected =
        (word - word.mean()) / (word.var(false) + 1e-5).sqrt() + grid_positions(1, 2, 8)[s];
    test::expect_near(found.memory[0][s], expected.to(torch::kDouble), 1e-5, "cell");
  }
}

TEST(LstmDecoder, a_copying_start_passes_the_context_on) {
  LstmDecoderOptions options = of_words();
  options.copy = true;
  EXPECT_TRUE(LstmDecoder(options)->named_parameters()["context_out.weight"].equal(torch::eye(8)));
}

TEST(LstmDecoder, steps_give_what_forward_gives) {
  for (const LstmDecoderOptions& options : {small(true), small(false), of_words()}) {
    LstmDecoder decoder = make(options);
    const torch::NoGradGuard no_grad;
    const torch::Tensor memory = torch::randn({2, 5, options.group_words.empty() ? 6 : 8});
    const torch::Tensor tokens = torch::randint(0, 9, {4, 6}, torch::kLong);  // 2 hypotheses a picture
    const ForcedWords forced = decoder->force(tokens, memory.repeat_interleave(2, 0));
    const auto steps = decoder->start(memory, 2);
    EXPECT_EQ(steps->inputs(), 2);
    for (int64_t t = 0; t < 6; ++t) {
      const DecoderStep step = steps->step(tokens.select(1, t));
      test::expect_near(step.log_probabilities, forced.logits.select(1, t).log_softmax(1), 1e-5, "words");
      test::expect_near(step.map, forced.weights.select(1, t).unsqueeze(1), 1e-5, "map");
    }
  }
}

TEST(LstmDecoder, reorder_moves_words_and_pictures) {
  LstmDecoder decoder = make(small());
  const torch::NoGradGuard no_grad;
  const torch::Tensor memory = torch::randn({3, 5, 6});
  const torch::Tensor first = torch::tensor({1, 2, 3, 4, 5, 6});
  const auto all = decoder->start(memory, 2);
  all->step(first);
  all->reorder(
      torch::tensor({5, 4, 1, 1}));  // picture 2 with its rows swapped, picture 0 from its second row
  EXPECT_EQ(all->inputs(), 2);
  const torch::Tensor next = torch::tensor({7, 8, 2, 3});
  const DecoderStep found = all->step(next);

  const auto plain = decoder->start(memory.index_select(0, torch::tensor({2, 0})), 2);
  plain->step(torch::tensor({6, 5, 2, 2}));
  const DecoderStep expected = plain->step(next);
  test::expect_near(found.log_probabilities, expected.log_probabilities, 1e-6, "words");
  test::expect_near(found.map, expected.map, 1e-6, "map");
  EXPECT_THROWS_WITH(all->reorder(torch::tensor({0, 2})), ArgumentError,
                     "[search] expected each 2 rows from one input; got rows of several");
}

TEST(LstmDecoder, every_parameter_learns) {
  LstmDecoderOptions plain = small();
  plain.grid = 0;
  for (const LstmDecoderOptions& options : {plain, of_words()}) {
    LstmDecoder decoder = make(options);
    decoder->train();
    const torch::Tensor tokens = torch::randint(0, 9, {2, 4}, torch::kLong);
    const ForcedWords forced = decoder->force(tokens, decoder->look_at(torch::randn({2, 6, 1, 5})).memory);
    (forced.logits.square().mean() + doubly_stochastic_loss(forced.weights, torch::tensor({3, 4})))
        .backward();
    for (const auto& item : decoder->named_parameters()) {
      if (item.key() == "score.bias") continue;  // moves all scores alike
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
    }
  }
}

TEST(LstmDecoder, a_beam_is_never_worse_than_greedy) {
  LstmDecoder decoder = make(small(false));
  SearchOptions options;
  options.length_penalty = 0;
  options.max_words = 5;
  const torch::Tensor memory = torch::randn({4, 5, 6});
  options.beam = 1;
  const auto greedy = search(*decoder, memory, options);
  options.beam = 4;
  const auto beam = search(*decoder, memory, options);
  for (size_t b = 0; b < 4; ++b) EXPECT_GE(beam[b][0].score + 1e-6, greedy[b][0].score);
}

TEST(DoublyStochasticLoss, is_the_mean_over_pictures_and_cells) {
  // Picture 0 says 2 words: its cells were looked at .5 + .1, .5 + .9; picture 1 one word: .2, .8.
  const torch::Tensor weights =
      torch::tensor({0.5, 0.5, 0.1, 0.9, 0.3, 0.7, 0.2, 0.8, 0.6, 0.4, 0.5, 0.5}).view({2, 3, 2});
  const double expected = (0.4 * 0.4 + 0.4 * 0.4 + 0.8 * 0.8 + 0.2 * 0.2) / 4;
  EXPECT_NEAR(doubly_stochastic_loss(weights, torch::tensor({2, 1})).item<double>(), expected, 1e-6);
  EXPECT_THROWS_WITH(doubly_stochastic_loss(weights, torch::tensor({2})), ArgumentError,
                     "[lstm_decoder] expected lengths [B=2]; got lengths [1]");
}

TEST(LstmDecoderOptions, survive_json_and_name_what_is_wrong) {
  const nlohmann::json json = to_json(small(false));
  EXPECT_EQ(to_json(lstm_decoder_options_from_json(json)), json);
  const nlohmann::json words = to_json(of_words());
  EXPECT_EQ(to_json(lstm_decoder_options_from_json(words)), words);
  const auto read = [](const char* text) {
    return lstm_decoder_options_from_json(nlohmann::json::parse(text));
  };
  EXPECT_THROWS_WITH(read("[]"), ArgumentError, "[lstm_decoder] expected an object of options; got array");
  EXPECT_THROWS_WITH(read("{}"), ArgumentError, "[lstm_decoder] expected the option vocabulary; got none");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "hidden": 0})"), ArgumentError,
                     "[lstm_decoder] expected hidden >= 1; got hidden 0");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "grid": 1.5})"), ArgumentError,
                     "[lstm_decoder] expected grid a whole number; got 1.5");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "tanh_start": 1})"), ArgumentError,
                     "[lstm_decoder] expected tanh_start true or false; got 1");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "dropout": 1})"), ArgumentError,
                     "[lstm_decoder] expected dropout in [0, 1); got dropout 1");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "tie": true})"), ArgumentError,
                     "[lstm_decoder] expected tie with deep_output; got tie alone");
  EXPECT_THROWS_WITH(read(R"({"vocabulary": 9, "deep_output": true, "copy": true})"), ArgumentError,
                     "[lstm_decoder] expected copy with deep_output and group_words; got copy alone");
  EXPECT_THROWS_WITH(
      read(R"({"vocabulary": 9, "visual_width": 2, "class_evidence": true, "groups": [0]})"), ArgumentError,
      "[lstm_decoder] expected a group for each class of the evidence and each extra one; got 1 groups");
  EXPECT_THROWS_WITH(
      read(
          R"({"vocabulary": 9, "visual_width": 2, "class_evidence": true, "group_words": [0, 1], "embedding": 6})"),
      ArgumentError, "[lstm_decoder] expected embedding a multiple of 4 with group_words; got embedding 6");
}

TEST(LstmDecoder, errors_state_shapes) {
  LstmDecoder decoder = make(small());
  EXPECT_THROWS_WITH(decoder->look_at(torch::zeros({1, 5, 2, 2})), ArgumentError,
                     "[lstm_decoder] expected visual [B, K=6, H, W]; got visual [1, 5, 2, 2]");
  EXPECT_THROWS_WITH(decoder->force(torch::zeros({2, 3}, torch::kLong), torch::zeros({1, 4, 6})),
                     ArgumentError, "[lstm_decoder] expected tokens [B=1, T]; got tokens [2, 3]");
  EXPECT_THROWS_WITH(decoder->force(torch::zeros({1, 7}, torch::kLong), torch::zeros({1, 4, 6})),
                     ArgumentError, "[lstm_decoder] expected T <= max_tokens 6; got T 7");
}

}  // namespace
}  // namespace gaze::models
