// Stopping, groups, constraints in a beam, and given sequences, on models that are written down here.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "models/decoder/caption_decoder.h"
#include "models/decoder/search.h"
#include "models/decoder/vocabulary.h"
#include "modules/core/error.h"
#include "tests/models/decoder/exhaustive_search.h"
#include "tests/support/random_model.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using test::RandomModel;
using test::RandomModelSteps;
using test::Tokens;

constexpr int64_t kEnd = 2, kA = 4, kB = 5, kC = 6, kD = 7;

// Probabilities of the next token by the tokens so far; those that are not named share what is left.
using Model = std::function<std::map<int64_t, double>(const Tokens&)>;

class WrittenSteps : public StepDecoder {
 public:
  WrittenSteps(Model model, int64_t beam) : model_(std::move(model)), rows_(static_cast<size_t>(beam)) {}

  int64_t max_tokens() const override { return 10; }
  int64_t inputs() const override { return 1; }
  DecoderStep step(const torch::Tensor& tokens) override {
    const auto R = static_cast<int64_t>(rows_.size());
    const torch::Tensor p = torch::empty({R, 8});
    for (int64_t r = 0; r < R; ++r) {
      Tokens& row = rows_[static_cast<size_t>(r)];
      if (steps_ > 0) row.push_back(tokens[r].item<int64_t>());
      const std::map<int64_t, double> named = model_(row);
      double left = 1;
      for (const auto& [token, probability] : named) left -= probability;
      p[r].fill_(left / (8 - static_cast<double>(named.size())));
      for (const auto& [token, probability] : named) p[r][token] = probability;
    }
    ++steps_;
    return {p.log(), torch::ones({R, 1, 1})};
  }
  void reorder(const torch::Tensor& rows) override {
    const std::vector<Tokens> before = rows_;
    for (int64_t r = 0; r < rows.size(0); ++r)
      rows_[static_cast<size_t>(r)] = before[static_cast<size_t>(rows[r].item<int64_t>())];
  }
  int64_t steps() const { return steps_; }

 private:
  Model model_;
  std::vector<Tokens> rows_;
  int64_t steps_ = 0;
};

// Whatever was said, the end is most probable.
std::map<int64_t, double> soon_over(const Tokens& /*words*/) {
  return {{kEnd, 0.6}, {kA, 0.3}, {kB, 0.09}};
}

struct Found {
  std::vector<Hypothesis> captions;
  int64_t steps;
};

Found find(const Model& model, const SearchOptions& options) {
  WrittenSteps steps(model, rows_per_input(options));
  std::vector<Hypothesis> captions = search(steps, options)[0];
  return {std::move(captions), steps.steps()};
}

std::vector<Tokens> tokens_of(const std::vector<Hypothesis>& captions) {
  std::vector<Tokens> tokens;
  tokens.reserve(captions.size());
  for (const Hypothesis& caption : captions) tokens.push_back(caption.tokens);
  return tokens;
}

TEST(SearchStopping, bound_full_and_shrink_stop_at_their_own_time) {
  SearchOptions options;
  options.beam = 2;
  options.length_penalty = 0;
  // log 0.6 at once, and no caption of "a ..." can have more than log 0.3.
  Found found = find(soon_over, options);
  EXPECT_EQ(found.steps, 1);
  EXPECT_EQ(tokens_of(found.captions), (std::vector<Tokens>{{kEnd}}));
  // Two are wanted: after [end] and [a, end] = 0.18, only "a a ..." = 0.09 is left.
  options.best = 2;
  found = find(soon_over, options);
  EXPECT_EQ(found.steps, 2);
  EXPECT_EQ(tokens_of(found.captions), (std::vector<Tokens>{{kEnd}, {kA, kEnd}}));
  for (const Stopping stopping : {Stopping::full, Stopping::shrink}) {
    options.stopping = stopping;
    options.best = 1;
    found = find(soon_over, options);
    EXPECT_EQ(found.steps, 2);
    EXPECT_EQ(tokens_of(found.captions), (std::vector<Tokens>{{kEnd}}));
  }
}

// [b, end] is among the best two of the second step, but its "b" was dropped by the beam that [end] left
// smaller.
TEST(SearchStopping, a_beam_that_shrinks_has_no_place_for_others) {
  const Model model = [](const Tokens& words) -> std::map<int64_t, double> {
    if (words.empty()) return {{kEnd, 0.4}, {kA, 0.3}, {kB, 0.25}};
    if (words == Tokens{kB}) return {{kEnd, 0.9}};
    return {{kEnd, 0.1}, {kA, 0.8}};
  };
  SearchOptions options;
  options.beam = options.best = 2;
  options.length_penalty = 0;
  options.stopping = Stopping::full;
  EXPECT_EQ(tokens_of(find(model, options).captions), (std::vector<Tokens>{{kEnd}, {kB, kEnd}}));
  options.stopping = Stopping::shrink;
  options.max_words = 3;
  const std::vector<Hypothesis> found = find(model, options).captions;
  EXPECT_EQ(tokens_of(found), (std::vector<Tokens>{{kEnd}, {kA, kA, kA}}));
  EXPECT_FALSE(found[1].finished);
}

TEST(SearchScore, averages_over_tokens_where_that_is_asked) {
  SearchOptions options;
  options.length_norm = LengthNorm::average;
  options.length_penalty = 5;  // of the other norm
  options.beam = 2;
  options.best = 1;
  // log 0.6 at once; eight words and the end have (8 log 0.7 + log 0.6) / 9 more each.
  const Model model = [](const Tokens&) -> std::map<int64_t, double> { return {{kEnd, 0.29}, {kA, 0.7}}; };
  const Hypothesis found = find(model, options).captions[0];
  EXPECT_EQ(found.tokens, (Tokens{kA, kA, kA, kA, kA, kA, kA, kA, kA, kEnd}));
  EXPECT_NEAR(found.score, (9 * std::log(0.7) + std::log(0.29)) / 10, 1e-6);
}

TEST(SearchGroups, avoid_what_earlier_ones_chose) {
  // a, b, c from probable to rare, and all end after one word.
  const Model model = [](const Tokens& words) -> std::map<int64_t, double> {
    if (words.empty()) return {{kA, 0.7}, {kB, 0.2}, {kC, 0.08}};
    return {{kEnd, 0.99}};
  };
  SearchOptions options;
  options.beam = options.best = options.groups = 3;
  options.diversity = 0;
  // Without a penalty all groups come to the same, and equal ones are returned once.
  EXPECT_EQ(find(model, options).captions[0].tokens, (Tokens{kA, kEnd}));
  options.diversity = 100;
  const std::vector<Hypothesis> found = find(model, options).captions;
  EXPECT_EQ(tokens_of(found), (std::vector<Tokens>{{kA, kEnd}, {kB, kEnd}, {kC, kEnd}}));
  // Scores are the model's.
  EXPECT_NEAR(found[1].log_probability, std::log(0.2) + std::log(0.99), 1e-6);
  EXPECT_NEAR(found[2].score, (std::log(0.08) + std::log(0.99)) / std::pow(7.0 / 6, 0.7), 1e-6);
  // log 0.7 - log 0.2 = 1.25: twice 0.6 does not change the third group's mind, twice 0.65 does.
  for (const double diversity : {0.6, 0.65}) {
    options.diversity = diversity;
    std::set<int64_t> first;
    for (const Hypothesis& caption : find(model, options).captions) first.insert(caption.tokens[0]);
    EXPECT_EQ(first.count(kB), diversity > 0.625 ? 1U : 0U);
    EXPECT_EQ(first.count(kC), 0U);
  }
}

TEST(SearchGroups, begin_apart_in_models_of_all_kinds) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomModel model;
    model.seed = seed;
    model.words = 6;
    SearchOptions options;
    options.beam = options.best = options.groups = 3;
    options.diversity = 1000;
    options.constraints.min_words = 1;
    RandomModelSteps steps(model, {0}, 3);
    std::set<int64_t> first;
    const std::vector<Hypothesis> found = search(steps, options)[0];
    for (const Hypothesis& caption : found) first.insert(caption.tokens[0]);
    EXPECT_EQ(first.size(), 3U) << "seed " << seed;
  }
}

// "b" fits after "a", though four tokens fit better (0.04), and nowhere else (0.001). Greedy says a c d, and
// "b" only when it must; a beam finds it where it belongs.
TEST(SearchForced, words_come_where_they_fit_best) {
  const Model model = [](const Tokens& words) -> std::map<int64_t, double> {
    if (words.empty()) return {{kA, 0.9}, {kB, 0.001}};
    if (words == Tokens{kA}) return {{kC, 0.4}, {kD, 0.3}, {kA, 0.15}, {kEnd, 0.1}, {kB, 0.04}};
    if (words == Tokens{kA, kB}) return {{kEnd, 0.9}, {kB, 0.001}};
    if (words.size() < 4) return {{kD, 0.9}, {kB, 0.001}};
    return {{kEnd, 0.99}, {kB, 0.001}};
  };
  SearchOptions options;
  options.length_penalty = 0;
  options.max_words = 5;
  options.constraints.forced = {{{kB}}};
  for (const int64_t beam : {2, 3, 5}) {
    options.beam = beam;
    const Hypothesis found = find(model, options).captions[0];
    EXPECT_EQ(found.tokens, (Tokens{kA, kB, kEnd})) << "beam " << beam;
    EXPECT_NEAR(found.log_probability, std::log(0.9 * 0.04 * 0.9), 1e-5);
  }
  options.beam = 1;
  EXPECT_EQ(find(model, options).captions[0].tokens, (Tokens{kA, kC, kD, kD, kB, kEnd}));
}

// A phrase's tokens stay together, an alternative is enough, and what is banned stays away.
TEST(SearchForced, phrases_have_alternatives) {
  SearchOptions options;
  options.beam = 4;
  options.max_words = 4;
  options.length_penalty = 0;
  options.constraints.forced = {{{kA, kB}, {kC, kD}}};
  const Model model = [](const Tokens& words) -> std::map<int64_t, double> {
    if (!words.empty() && (words.back() == kB || words.back() == kD)) return {{kEnd, 0.9}};
    return {{kA, 0.4}, {kB, 0.01}, {kC, 0.2}, {kD, 0.2}, {kEnd, 0.1}};
  };
  // c d end: 0.2 x 0.2 x 0.9; a b end: 0.4 x 0.01 x 0.9.
  EXPECT_EQ(find(model, options).captions[0].tokens, (Tokens{kC, kD, kEnd}));
  options.constraints.banned = {{kD}};
  EXPECT_EQ(find(model, options).captions[0].tokens, (Tokens{kA, kB, kEnd}));
}

TEST(SearchConstraints, a_prefix_is_reported_with_its_own_probabilities) {
  SearchOptions options;
  options.length_penalty = 0;
  options.constraints.prefix = {kB, kB};
  const Hypothesis found = find(soon_over, options).captions[0];
  EXPECT_EQ(found.tokens, (Tokens{kB, kB, kEnd}));
  ASSERT_EQ(found.log_probabilities.size(), 3U);
  EXPECT_EQ(found.maps.size(), 3U);
  EXPECT_NEAR(found.log_probabilities[0], std::log(0.09), 1e-6);
  EXPECT_NEAR(found.log_probability, std::log(0.09 * 0.09 * 0.6), 1e-6);
}

TEST(SearchConstraints, repetition_counts_in_the_score_alone) {
  SearchOptions options;
  options.beam = 1;
  options.length_penalty = 0;
  options.max_words = 3;
  options.constraints.banned = {{kEnd}};
  const Model model = [](const Tokens&) -> std::map<int64_t, double> {
    return {{kA, 0.5}, {kB, 0.3}, {kEnd, 0.1}};
  };
  EXPECT_EQ(find(model, options).captions[0].tokens, (Tokens{kA, kA, kA}));
  options.constraints.repetition_penalty = 2;  // 0.5 ^ 2 < 0.3, 0.3 ^ 2 < 0.25
  const Hypothesis found = find(model, options).captions[0];
  EXPECT_EQ(found.tokens, (Tokens{kA, kB, kA}));
  EXPECT_NEAR(found.log_probability, std::log(0.5 * 0.3 * 0.5), 1e-6);
  EXPECT_NEAR(found.score, std::log(0.5 * 0.3 * 0.5 * 0.5), 1e-6);
}

TEST(SearchConstraints, captions_that_must_not_end_are_as_long_as_they_may_be) {
  SearchOptions options;
  options.beam = options.best = 2;
  options.max_words = 4;
  options.constraints.banned = {{kEnd}};
  const Found found = find(soon_over, options);
  EXPECT_EQ(found.steps, 4);  // and the end is not asked for
  ASSERT_EQ(found.captions.size(), 2U);
  EXPECT_EQ(found.captions[0].tokens, (Tokens{kA, kA, kA, kA}));
  EXPECT_FALSE(found.captions[0].finished);
}

TEST(SearchConstraints, an_ngram_comes_twice_only_where_it_must) {
  SearchOptions options;
  options.beam = 1;
  options.max_words = 6;
  options.constraints.banned = {{kEnd}};
  const Model model = [](const Tokens&) -> std::map<int64_t, double> {
    return {{kA, 0.5}, {kB, 0.3}, {kC, 0.1}, {kD, 0.05}};
  };
  options.constraints.no_repeat_ngram = 2;
  EXPECT_EQ(find(model, options).captions[0].tokens, (Tokens{kA, kA, kB, kA, kC, kA}));
  options.constraints.no_repeat_ngram = 1;
  EXPECT_EQ(find(model, options).captions[0].tokens, (Tokens{kA, kB, kC, kD, kA, kA}));
  // Two phrases with the same word.
  options.constraints.forced = {{{kA, kC}}, {{kA, kD}}};
  options.max_words = 4;
  EXPECT_EQ(find(model, options).captions[0].tokens, (Tokens{kA, kC, kA, kD}));
}

TEST(ScoreTokens, says_what_a_search_says_of_its_own_captions) {
  torch::manual_seed(3);
  CaptionDecoderOptions shape;
  shape.vocabulary = 12;
  shape.visual_width = 5;
  shape.width = 8;
  shape.heads = 2;
  shape.layers = 2;
  shape.feed_forward = 16;
  shape.max_tokens = 6;
  CaptionDecoder decoder(shape);
  torch::Tensor memory;
  {
    const torch::NoGradGuard no_grad;
    memory = decoder->embed_picture(3 * torch::randn({3, 5, 2, 3}));
  }
  SearchOptions options;
  options.beam = options.best = 4;
  const auto found = search(*decoder, memory, options);
  for (size_t i = 0; i < 4; ++i) {
    std::vector<Tokens> tokens;  // of each picture its i-th: of different lengths
    tokens.reserve(found.size());
    for (const auto& captions : found) tokens.push_back(captions[i].tokens);
    const std::vector<Hypothesis> scored = score_tokens(*decoder, memory, tokens, options);
    ASSERT_EQ(scored.size(), 3U);
    for (size_t b = 0; b < 3; ++b) {
      const Hypothesis& expected = found[b][i];
      EXPECT_EQ(scored[b].tokens, expected.tokens);
      EXPECT_NEAR(scored[b].score, expected.score, 1e-5);
      EXPECT_NEAR(scored[b].log_probability, expected.log_probability, 1e-5);
      EXPECT_EQ(scored[b].finished, expected.finished);
      for (size_t t = 0; t < expected.tokens.size(); ++t) {
        EXPECT_NEAR(scored[b].log_probabilities[t], expected.log_probabilities[t], 1e-5);
        EXPECT_LT((scored[b].maps[t] - expected.maps[t]).abs().max().item<double>(), 1e-5);
      }
    }
  }
  EXPECT_TRUE(decoder->is_training());
}

TEST(ScoreTokens, takes_any_token_and_tells_what_it_cannot_score) {
  const RandomModel model;
  const auto score = [&](const std::vector<Tokens>& tokens) {
    RandomModelSteps steps(model, {0}, 1);
    return score_tokens(steps, tokens, SearchOptions());
  };
  const Hypothesis unknown = score({{3, 4}})[0];
  EXPECT_EQ(unknown.log_probabilities[0], model.log_probabilities(0, {})[3]);
  EXPECT_EQ(unknown.log_probabilities[1], model.log_probabilities(0, {3})[4]);
  EXPECT_FALSE(unknown.finished);
  EXPECT_THROWS_WITH(score({{}}), ArgumentError,
                     "[search] expected 1..6 tokens to score, the end token included; got 0");
  EXPECT_THROWS_WITH(score({{4, 4, 4, 4, 4, 4, 2}}), ArgumentError,
                     "[search] expected 1..6 tokens to score, the end token included; got 7");
  EXPECT_THROWS_WITH(score({{4, 7}}), ArgumentError, "[search] expected tokens in 0..6; got token 7");
  EXPECT_THROWS_WITH(score({{4}, {5}}), ArgumentError, "[search] expected tokens of 1 inputs; got 2");
}

TEST(SearchErrors, state_the_range) {
  SearchOptions options;
  options.beam = 4;
  options.groups = 3;
  EXPECT_THROWS_WITH(check_search(options), ArgumentError,
                     "[search] expected groups that share beam 4 equally; got groups 3");
  options.groups = 0;
  EXPECT_THROWS_WITH(check_search(options), ArgumentError,
                     "[search] expected groups that share beam 4 equally; got groups 0");
  options.groups = 2;
  options.diversity = -1;
  EXPECT_THROWS_WITH(check_search(options), ArgumentError,
                     "[search] expected diversity >= 0; got diversity -1");
}

}  // namespace
}  // namespace gaze::models
