#include "models/sequence/translator.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "models/decoder/vocabulary.h"
#include "modules/core/error.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TranslatorOptions small() {
  TranslatorOptions options;
  options.source_vocabulary = 11;
  options.target_vocabulary = 9;
  options.embedding = 6;
  options.width = 8;
  options.heads = 2;
  options.max_tokens = 12;
  return options;
}

// Tokens without special ones; the rows' lengths are 5, 3 and 1.
torch::Tensor sources() {
  torch::Tensor source = torch::randint(Vocabulary::kSpecials, 11, {3, 5}, torch::kLong);
  source[1].narrow(0, 3, 2).fill_(Vocabulary::kPad);
  source[2].narrow(0, 1, 4).fill_(Vocabulary::kPad);
  return source;
}
torch::Tensor targets() {
  return torch::randint(Vocabulary::kSpecials, 9, {3, 4}, torch::kLong);
}

// Every encoder with every decoder; every score with every fusion; none.
std::vector<TranslatorOptions> every_kind() {
  std::vector<TranslatorOptions> all;
  TranslatorOptions options = small();
  for (int encoder = 0; encoder < 5; ++encoder)
    for (int decoder = 0; decoder < 2; ++decoder) {
      options.encoder = static_cast<EncoderKind>(encoder);
      options.decoder = static_cast<RecurrentKind>(decoder);
      options.layers = 1 + decoder;
      all.push_back(options);
    }
  options = small();
  for (int score = 0; score < 4; ++score)
    for (int fusion = 0; fusion < 3; ++fusion) {
      options.score = static_cast<AttentionScore>(score);
      options.fusion = static_cast<FusionKind>(fusion);
      all.push_back(options);
    }
  options = small();
  options.attention = false;
  all.push_back(options);
  options.encoder = EncoderKind::transformer;
  all.push_back(options);
  return all;
}

TEST(Translator, steps_are_the_forward_pass) {
  torch::manual_seed(1);
  const torch::NoGradGuard guard;
  for (const TranslatorOptions& options : every_kind()) {
    const std::string context = to_json(options).dump();
    Translator translator(options);
    translator->eval();
    const torch::Tensor target = targets();
    const EncodedSource source = translator->encode(sources());
    const Translated whole = translator->forward(target, source);
    ASSERT_EQ(whole.logits.sizes(), (std::vector<int64_t>{3, 4, 9})) << context;
    // Two hypotheses a source; they trade places after every step, and at last only the second source stays.
    TranslationSteps steps(translator, source, 2);
    for (int64_t t = 0; t < 4; ++t) {
      const DecoderStep step = steps.step(target.select(1, t).repeat_interleave(2));
      const torch::Tensor expected = whole.logits.select(1, t).log_softmax(1).repeat_interleave(2, 0);
      test::expect_near(step.log_probabilities, expected, 1e-5, context);
      ASSERT_EQ(step.map.sizes(), (std::vector<int64_t>{6, 1, 5}));
      const torch::Tensor map = options.attention
                                    ? whole.weights.select(1, t).repeat_interleave(2, 0).unsqueeze(1)
                                    : torch::zeros({6, 1, 5});
      test::expect_near(step.map, map, 1e-5, context + ", map");
      steps.reorder(torch::tensor({1, 0, 3, 2, 5, 4}, torch::kLong));
    }
    TranslationSteps fewer(translator, source, 2);
    fewer.step(target.select(1, 0).repeat_interleave(2));
    fewer.reorder(torch::tensor({2, 3}, torch::kLong));
    EXPECT_EQ(fewer.inputs(), 1);
    const DecoderStep step = fewer.step(target.select(1, 1).narrow(0, 1, 1).repeat_interleave(2));
    test::expect_near(step.log_probabilities[0], whole.logits[1][1].log_softmax(0), 1e-5,
                      context + ", one left");
  }
}

TEST(Translator, what_is_behind_a_source_changes_nothing) {
  torch::manual_seed(2);
  const torch::NoGradGuard guard;
  for (const TranslatorOptions& options : every_kind()) {
    const std::string context = to_json(options).dump();
    Translator translator(options);
    translator->eval();
    const torch::Tensor source = sources(), target = targets();
    const Translated together = translator->forward(target, translator->encode(source));
    for (int64_t b = 0; b < 3; ++b) {
      const int64_t length = source[b].ne(Vocabulary::kPad).sum().item<int64_t>();
      const Translated alone = translator->forward(
          target.narrow(0, b, 1), translator->encode(source.narrow(0, b, 1).narrow(1, 0, length)));
      test::expect_near(together.logits[b], alone.logits[0], 1e-5, context);
      if (!options.attention) continue;
      test::expect_near(together.weights[b].narrow(1, 0, length), alone.weights[0], 1e-5, context);
      EXPECT_TRUE(together.weights[b].narrow(1, length, 5 - length).eq(0).all().item<bool>()) << context;
      test::expect_near(together.weights[b].sum(1), torch::ones({4}), 1e-6, context);
    }
  }
}

// tanh(W_f [s; c]) with c by the additive score, from the state alone.
TEST(Translator, is_the_formula) {
  torch::manual_seed(3);
  const torch::NoGradGuard guard;
  TranslatorOptions options = small();
  options.encoder = EncoderKind::gru;
  options.decoder = RecurrentKind::gru;
  Translator translator(options);
  translator->eval();
  auto p = translator->named_parameters();
  const auto linear = [&](const std::string& name, const torch::Tensor& x) {
    return torch::linear(x, p[name + ".weight"], p[name + ".bias"]);
  };
  // PyTorch's GRU cell, a step at a time.
  const auto gru = [&](const std::string& name, const torch::Tensor& x, const torch::Tensor& h) {
    const auto gates = torch::linear(x, p[name + ".weight_ih_l0"], p[name + ".bias_ih_l0"]).chunk(3),
               hidden = torch::linear(h, p[name + ".weight_hh_l0"], p[name + ".bias_hh_l0"]).chunk(3);
    const torch::Tensor r = torch::sigmoid(gates[0] + hidden[0]), z = torch::sigmoid(gates[1] + hidden[1]);
    return (1 - z) * torch::tanh(gates[2] + r * hidden[2]) + z * h;
  };
  const std::vector<int64_t> source{4, 9, 6}, target{1, 5, 8};
  std::vector<torch::Tensor> memory;
  torch::Tensor h = torch::zeros({8});
  for (const int64_t token : source)
    memory.push_back(h = gru("encoder", p["source_embedding.weight"][token], h));
  torch::Tensor s = torch::tanh(linear("bridge", h));
  const Translated got =
      translator->forward(torch::tensor(target, torch::kLong).unsqueeze(0),
                          translator->encode(torch::tensor(source, torch::kLong).unsqueeze(0)));
  for (size_t t = 0; t < target.size(); ++t) {
    s = gru("decoder", p["target_embedding.weight"][target[t]], s);
    std::vector<torch::Tensor> scores;
    for (const torch::Tensor& one : memory)
      scores.push_back(torch::matmul(p["attention.v.weight"],
                                     torch::tanh(linear("attention.attn", torch::cat({one, s})))));
    const torch::Tensor weights = torch::cat(scores).softmax(0);
    torch::Tensor context = torch::zeros({8});
    for (size_t i = 0; i < memory.size(); ++i)
      context = context + weights[static_cast<int64_t>(i)] * memory[i];
    const torch::Tensor logits = linear("output", torch::tanh(linear("hidden", torch::cat({s, context}))));
    test::expect_near(got.weights[0][static_cast<int64_t>(t)], weights, 1e-5, "weights");
    test::expect_near(got.logits[0][static_cast<int64_t>(t)], logits, 1e-5, "logits");
  }
}

// Digits read backwards: only attention, or a state that holds them all, can do it.
TEST(Translator, learns_to_reverse) {
  torch::manual_seed(4);
  TranslatorOptions options = small();
  options.embedding = 16;
  options.width = 32;
  options.dropout = 0;
  Translator translator(options);
  torch::optim::Adam optimizer(translator->parameters(), torch::optim::AdamOptions(1e-2));
  const auto draw = [](int64_t count) {
    return torch::randint(Vocabulary::kSpecials, 9, {count, 5}, torch::kLong);
  };
  const auto with_start = [](const torch::Tensor& x) {
    return torch::cat({torch::full({x.size(0), 1}, Vocabulary::kStart, torch::kLong), x.narrow(1, 0, 4)}, 1);
  };
  for (int step = 0; step < 250; ++step) {
    const torch::Tensor x = draw(32), y = x.flip(1);
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(
        translator->forward(with_start(y), translator->encode(x)).logits.flatten(0, 1), y.flatten())
        .backward();
    optimizer.step();
  }
  const torch::NoGradGuard guard;
  const torch::Tensor x = draw(200), y = x.flip(1);
  const Translated read = translator->forward(with_start(y), translator->encode(x));
  EXPECT_GT(read.logits.argmax(2).eq(y).to(torch::kDouble).mean().item<double>(), 0.98);
}

TEST(Translator, options_come_back_and_mistakes_are_told) {
  for (const TranslatorOptions& options : every_kind())
    EXPECT_EQ(to_json(translator_options_from_json(to_json(options))), to_json(options));
  const auto read = [](const char* key, const nlohmann::json& value) {
    nlohmann::json json = to_json(small());
    json[key] = value;
    return translator_options_from_json(json);
  };
  EXPECT_THROWS_WITH(
      read("scale", 3), ArgumentError,
      "[translator] unknown option \"scale\"; known: attention, decoder, dropout, embedding, encoder, "
      "fusion, heads, layers, max_tokens, score, source_vocabulary, target_vocabulary, width");
  EXPECT_THROWS_WITH(read("encoder", "lsmt"), ArgumentError,
                     "[translator] unknown encoder \"lsmt\"; known: lstm, gru, bidirectional_lstm, "
                     "bidirectional_gru, transformer");
  EXPECT_THROWS_WITH(read("width", 7), ArgumentError, "[translator] expected an even width; got width 7");
  EXPECT_THROWS_WITH(read("width", "8"), ArgumentError, "[translator] expected width a whole number; got \"8\"");
  EXPECT_THROWS_WITH(translator_options_from_json({{"source_vocabulary", 5}}), ArgumentError,
                     "[translator] expected the option target_vocabulary; got none");
  Translator translator(small());
  EXPECT_THROWS_WITH(translator->encode(torch::zeros({2, 3}, torch::kLong)), ArgumentError,
                     "[translator] expected sources with tokens; got one without");
  EXPECT_THROWS_WITH(translator->encode(torch::ones({2, 3})), ArgumentError,
                     "[translator] expected source int64; got source Float");
  EXPECT_THROWS_WITH(translator->forward(torch::ones({2, 3}, torch::kLong), translator->encode(sources())),
                     ArgumentError, "[translator] expected target [B=3, T]; got target [2, 3]");
}

}  // namespace
}  // namespace gaze::models
