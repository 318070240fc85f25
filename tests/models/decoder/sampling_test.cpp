#include "models/decoder/sampling.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "models/decoder/search.h"
#include "models/decoder/token_choice.h"
#include "modules/core/error.h"
#include "modules/core/random.h"
#include "tests/models/decoder/exhaustive_search.h"
#include "tests/support/random_model.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using test::RandomModel;
using test::RandomModelSteps;
using test::Tokens;

std::vector<float> log_of(const std::vector<double>& probabilities) {
  std::vector<float> log_p;
  log_p.reserve(probabilities.size());
  for (const double p : probabilities) log_p.push_back(static_cast<float>(std::log(p)));
  return log_p;
}

// How much of 0 .. 1 each token has, to 1 / 1000.
std::vector<double> shares(const std::vector<float>& log_p, const Sampling& sampling) {
  std::vector<double> of(log_p.size());
  for (int i = 0; i < 1000; ++i) {
    const int64_t token = drawn_token(log_p.data(), static_cast<int64_t>(log_p.size()), sampling,
                                      SpecialTokens(), (i + 0.5) / 1000);
    of[static_cast<size_t>(token)] += 0.001;
  }
  return of;
}

void expect_shares(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.0011) << "token " << i;
}

// <pad>, <start> and <unk> (0, 1, 3) are never drawn: 0.8 is left to the others.
const std::vector<double> kProbabilities = {0.05, 0.05, 0.1, 0.1, 0.3, 0.15, 0.2, 0.05};

TEST(Sampling, draws_by_probability) {
  expect_shares(shares(log_of(kProbabilities), Sampling()), {0, 0, 0.125, 0, 0.375, 0.1875, 0.25, 0.0625});
}

TEST(Sampling, temperature_is_a_power_of_the_probabilities) {
  Sampling sampling;
  sampling.temperature = 0.5;
  const double sum = 0.01 + 0.09 + 0.0225 + 0.04 + 0.0025;
  expect_shares(shares(log_of(kProbabilities), sampling),
                {0, 0, 0.01 / sum, 0, 0.09 / sum, 0.0225 / sum, 0.04 / sum, 0.0025 / sum});
}

TEST(Sampling, top_k_keeps_the_k_most_probable) {
  Sampling sampling;
  sampling.top_k = 2;
  expect_shares(shares(log_of(kProbabilities), sampling), {0, 0, 0, 0, 0.6, 0, 0.4, 0});
  sampling.top_k = 100;
  expect_shares(shares(log_of(kProbabilities), sampling), shares(log_of(kProbabilities), Sampling()));
  sampling.top_k = 2;  // equal ones by id
  expect_shares(shares(log_of({0, 0, 0.25, 0, 0.25, 0.25, 0.25}), sampling), {0, 0, 0.5, 0, 0.5, 0, 0});
}

TEST(Sampling, top_p_keeps_the_fewest_that_reach_it) {
  Sampling sampling;
  // Of 0.375, 0.25, 0.1875, 0.125, 0.0625: one, two and three of them.
  sampling.top_p = 0.3;
  expect_shares(shares(log_of(kProbabilities), sampling), {0, 0, 0, 0, 1, 0, 0, 0});
  sampling.top_p = 0.6;
  expect_shares(shares(log_of(kProbabilities), sampling), {0, 0, 0, 0, 0.6, 0, 0.4, 0});
  sampling.top_p = 0.65;
  const double sum = 0.3 + 0.2 + 0.15;
  expect_shares(shares(log_of(kProbabilities), sampling), {0, 0, 0, 0, 0.3 / sum, 0.15 / sum, 0.2 / sum, 0});
  sampling.top_p = 0.5;  // reached exactly
  expect_shares(shares(log_of({0, 0, 0, 0, 0.5, 0.5}), sampling), {0, 0, 0, 0, 1, 0});
  sampling.top_p = 0.65;
  sampling.top_k = 2;  // it is of what top_k left: 0.6 and 0.4
  expect_shares(shares(log_of(kProbabilities), sampling), {0, 0, 0, 0, 0.6, 0, 0.4, 0});
  sampling.top_p = 0.55;
  expect_shares(shares(log_of(kProbabilities), sampling), {0, 0, 0, 0, 1, 0, 0, 0});
}

TEST(Sampling, what_is_impossible_is_not_drawn) {
  EXPECT_EQ(drawn_token(log_of({0.5, 0.5, 0, 0, 0, 0}).data(), 6, Sampling(), SpecialTokens(), 0.5), -1);
  expect_shares(shares(log_of({0, 0, 0, 0, 1, 0}), Sampling()), {0, 0, 0, 0, 1, 0});
}

TEST(BestTokens, are_those_of_a_sort) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random({seed});
    const int64_t V = random.between(1, 200), count = random.between(1, 12);
    std::vector<float> log_p;
    // Few different values, so that many are equal; some impossible.
    for (int64_t token = 0; token < V; ++token) {
      log_p.push_back(random.chance(0.1) ? -INFINITY : -static_cast<float>(random.below(9)));
    }
    std::vector<int64_t> expected;
    for (int64_t token = 0; token < V; ++token) {
      if ((token == 2 || token > 3) && log_p[static_cast<size_t>(token)] > -INFINITY)
        expected.push_back(token);
    }
    std::stable_sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) {
      return log_p[static_cast<size_t>(a)] > log_p[static_cast<size_t>(b)];
    });
    if (static_cast<int64_t>(expected.size()) > count) expected.resize(static_cast<size_t>(count));
    EXPECT_EQ(best_tokens(log_p.data(), V, count, SpecialTokens()), expected) << "seed " << seed;
  }
}

std::vector<std::vector<Hypothesis>> draw(const RandomModel& model, const std::vector<uint64_t>& inputs,
                                          const SearchOptions& options) {
  RandomModelSteps steps(model, inputs, options.sampling.samples);
  return search(steps, options);
}

// Each caption is drawn as often as it is probable: chi-square over all captions of a tiny model, 20,000
// draws.
TEST(Sampling, captions_come_as_often_as_they_are_probable) {
  RandomModel model;
  model.words = 2;
  model.max_tokens = 3;
  SearchOptions options;
  options.sampling.samples = 1;
  options.sampling.temperature = 1.5;
  options.sampling.seed = 7;
  constexpr size_t kDraws = 20000;
  const std::vector<uint64_t> inputs(kDraws, 0);
  for (uint64_t i = 0; i < kDraws; ++i) options.sampling.inputs.push_back(i);
  std::map<Tokens, int64_t> counts;
  for (const auto& captions : draw(model, inputs, options)) ++counts[captions.front().tokens];

  // p of a token among those that may be said, at this temperature.
  const auto p = [&](const Tokens& words, int64_t token) {
    const std::vector<double> log_p = model.log_probabilities(0, words);
    double sum = 0;
    for (const size_t other : {2, 4, 5}) sum += std::exp(log_p[other] / 1.5);
    return std::exp(log_p[static_cast<size_t>(token)] / 1.5) / sum;
  };
  std::map<Tokens, double> expected = {{{2}, p({}, 2)}};
  for (const int64_t a : {4, 5}) {
    expected[{a, 2}] = p({}, a) * p({a}, 2);
    for (const int64_t b : {4, 5}) {
      const double both = p({}, a) * p({a}, b);
      expected[{a, b, 2}] = both * p({a, b}, 2);
      expected[{a, b}] = both * (1 - p({a, b}, 2));  // cut
    }
  }
  double total = 0, chi_square = 0;
  for (const auto& [tokens, probability] : expected) {
    const double mean = probability * static_cast<double>(kDraws);
    chi_square += std::pow(static_cast<double>(counts[tokens]) - mean, 2) / mean;
    total += probability;
  }
  EXPECT_NEAR(total, 1, 1e-9);
  EXPECT_EQ(counts.size(), expected.size());  // and nothing else
  // 10 degrees of freedom: 1 in 1000 is above 29.6.
  EXPECT_EQ(expected.size(), 11U);
  EXPECT_LT(chi_square, 29.6);
}

TEST(Sampling, a_sample_depends_on_seed_and_number_alone) {
  RandomModel model;
  model.words = 20;
  model.max_tokens = 12;
  SearchOptions options;
  options.sampling.samples = options.best = 3;
  options.sampling.seed = 5;
  const auto three = draw(model, {6, 6, 8}, options);
  options.sampling.inputs = {1};
  const auto second = draw(model, {6}, options);
  ASSERT_EQ(second[0].size(), three[1].size());
  for (size_t i = 0; i < second[0].size(); ++i) EXPECT_EQ(second[0][i].tokens, three[1][i].tokens);
  EXPECT_NE(three[0][0].tokens, three[1][0].tokens);  // the same picture, another number
  options.sampling.samples = options.best = 1;
  const Tokens first = draw(model, {6}, options)[0][0].tokens;
  EXPECT_TRUE(std::any_of(second[0].begin(), second[0].end(),
                          [&](const Hypothesis& caption) { return caption.tokens == first; }));
  options.sampling.seed = 6;
  EXPECT_NE(draw(model, {6}, options)[0][0].tokens, first);
}

TEST(Sampling, equal_samples_are_returned_once) {
  RandomModel model;
  model.words = 1;
  model.max_tokens = 2;
  SearchOptions options;
  options.sampling.samples = options.best = 500;
  const std::vector<Hypothesis> found = draw(model, {0}, options)[0];
  EXPECT_EQ(found.size(), 3U);  // {2}, {4, 2} and, cut, {4}
}

TEST(Sampling, ranges_are_told) {
  const RandomModel model;
  RandomModelSteps steps(model, {0}, 1);
  SearchOptions options;
  options.sampling.samples = -1;
  EXPECT_THROWS_WITH(search(steps, options), ArgumentError, "[search] expected samples >= 0; got samples -1");
  options.sampling = {};
  options.sampling.temperature = 0;
  EXPECT_THROWS_WITH(search(steps, options), ArgumentError,
                     "[search] expected a temperature above 0; got temperature 0");
  options.sampling = {};
  options.sampling.top_k = -1;
  EXPECT_THROWS_WITH(search(steps, options), ArgumentError, "[search] expected top_k >= 0; got top_k -1");
  options.sampling = {};
  options.sampling.top_p = 0;
  EXPECT_THROWS_WITH(search(steps, options), ArgumentError, "[search] expected top_p in (0, 1]; got top_p 0");
  options.sampling.top_p = 1.5;
  EXPECT_THROWS_WITH(search(steps, options), ArgumentError,
                     "[search] expected top_p in (0, 1]; got top_p 1.5");
  options.sampling = {};
  options.sampling.samples = 3;
  options.groups = 3;
  EXPECT_THROWS_WITH(search(steps, options), ArgumentError,
                     "[search] expected samples or groups, not both; got samples 3, groups 3");
  options.groups = 1;
  options.best = 4;
  EXPECT_THROWS_WITH(search(steps, options), ArgumentError,
                     "[search] expected best in 1..samples (3); got best 4");
  options.best = 1;
  options.sampling.samples = 1;
  options.sampling.inputs = {1, 2};
  EXPECT_THROWS_WITH(search(steps, options), ArgumentError, "[search] expected numbers of 1 inputs; got 2");
}

}  // namespace
}  // namespace gaze::models
