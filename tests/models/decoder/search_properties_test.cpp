// What holds for every search, on hundreds of small models whose captions can all be tried.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <optional>
#include <set>

#include "models/decoder/search.h"
#include "modules/core/error.h"
#include "modules/core/random.h"
#include "tests/models/decoder/exhaustive_search.h"
#include "tests/models/decoder/plain_beam_search.h"
#include "tests/support/random_model.h"

namespace gaze::models {
namespace {

using test::ExhaustiveSearch;
using test::PlainBeamSearch;
using test::RandomModel;
using test::RandomModelSteps;
using test::ScoredCaption;
using test::Tokens;

constexpr uint64_t kModels = 500;

std::vector<std::vector<Hypothesis>> find(const RandomModel& model, const std::vector<uint64_t>& inputs,
                                          const SearchOptions& options) {
  RandomModelSteps steps(model, inputs, rows_per_input(options));
  return search(steps, options);
}

// A way to rank, another for each seed.
SearchOptions ranking(uint64_t seed) {
  const double penalties[] = {0.7, 0.0, 2.0, -1.0};
  SearchOptions options;
  options.length_penalty = penalties[seed % 4];
  if (seed % 5 == 4) options.length_norm = LengthNorm::average;
  return options;
}

RandomModel make_model(uint64_t seed) {
  RandomModel model;
  model.seed = seed;
  model.words = 2 + static_cast<int64_t>(seed % 3);
  model.max_tokens = 4 + static_cast<int64_t>(seed / 3 % 3);
  return model;
}

Tokens random_phrase(Random& random, const RandomModel& model) {
  Tokens phrase;
  for (int64_t i = random.between(1, 2); i > 0; --i) phrase.push_back(4 + random.below(model.words));
  return phrase;
}

// Constraints that may exclude each other.
Constraints random_constraints(uint64_t seed, const RandomModel& model) {
  Random random({seed, 77});
  Constraints rules;
  for (int64_t i = random.below(3); i > 0; --i) rules.banned.push_back(random_phrase(random, model));
  for (int64_t i = random.below(3); i > 0; --i) {
    rules.forced.emplace_back();
    for (int64_t j = random.between(1, 2); j > 0; --j) {
      rules.forced.back().push_back(random_phrase(random, model));
    }
  }
  if (random.chance(0.4)) rules.min_words = random.below(model.max_tokens);
  if (random.chance(0.3)) rules.prefix = random_phrase(random, model);
  if (random.chance(0.4)) rules.no_repeat_ngram = random.between(1, 2);
  if (random.chance(0.3)) rules.repetition_penalty = random.uniform(0.5, 2);
  if (random.chance(0.1)) rules.banned.push_back({2});
  if (random.chance(0.4)) {
    rules.continuations.assign(static_cast<size_t>(model.vocabulary()), false);
    rules.continuations[static_cast<size_t>(4 + random.below(model.words))] = true;
  }
  return rules;
}

// A model with constraints that some caption obeys.
struct Case {
  RandomModel model;
  SearchOptions options;
};

std::optional<Case> constrained_case(uint64_t seed) {
  Case found{make_model(seed), ranking(seed)};
  found.options.constraints = random_constraints(seed, found.model);
  ExhaustiveSearch all(found.model, 0, found.options);
  if (!all.completes({})) return std::nullopt;
  return found;
}

TEST(SearchProperties, a_beam_that_holds_all_prefixes_finds_the_optimum) {
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    RandomModel model = make_model(seed);
    model.max_tokens = std::min<int64_t>(model.max_tokens, 5);
    SearchOptions options = ranking(seed);
    options.beam = 1300;
    options.best = 5;
    const std::vector<ScoredCaption> expected = ExhaustiveSearch(model, 0, options).finished();
    const std::vector<Hypothesis> found = find(model, {0}, options)[0];
    ASSERT_EQ(found.size(), std::min<size_t>(5, expected.size()));
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].tokens, expected[i].tokens) << "seed " << seed << ", rank " << i;
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-9);
    }
  }
}

TEST(SearchProperties, so_it_does_under_constraints_and_what_no_caption_obeys_is_refused) {
  int64_t refused = 0, constrained = 0;
  for (uint64_t seed = 0; seed < 2 * kModels; ++seed) {
    RandomModel model = make_model(seed);
    model.max_tokens = std::min<int64_t>(model.max_tokens, 5);
    SearchOptions options = ranking(seed);
    options.constraints = random_constraints(seed, model);
    options.beam = 400;
    options.best = 5;
    ExhaustiveSearch all(model, 0, options);
    if (!all.completes({})) {
      EXPECT_THROW(find(model, {0}, options), ArgumentError) << "seed " << seed;
      ++refused;
      continue;
    }
    const std::vector<ScoredCaption> expected = all.finished();
    const std::vector<Hypothesis> found = find(model, {0}, options)[0];
    for (size_t i = 0; i < std::min<size_t>(5, expected.size()); ++i) {
      ASSERT_LT(i, found.size()) << "seed " << seed;
      EXPECT_EQ(found[i].tokens, expected[i].tokens) << "seed " << seed << ", rank " << i;
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-9);
    }
    ++constrained;
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(constrained, 500);
}

TEST(SearchProperties, a_beam_never_scores_below_greedy) {
  int64_t better = 0, compared = 0;
  for (uint64_t seed = 0; seed < 2 * kModels; ++seed) {
    // Half of them with constraints.
    std::optional<Case> known = Case{make_model(seed), ranking(seed)};
    if (seed % 2 == 1) known = constrained_case(seed);
    if (!known) continue;
    auto& [model, options] = *known;
    model.max_tokens = 12;
    model.words = 4 + static_cast<int64_t>(seed % 5);
    if (!options.constraints.continuations.empty()) {
      options.constraints.continuations.resize(static_cast<size_t>(model.vocabulary()));
    }
    options.beam = 1;
    const Hypothesis greedy = find(model, {0}, options)[0][0];
    for (const int64_t beam : {2, 3, 5}) {
      options.beam = beam;
      const Hypothesis found = find(model, {0}, options)[0][0];
      if (greedy.finished) EXPECT_TRUE(found.finished) << "seed " << seed << ", beam " << beam;
      if (greedy.finished != found.finished) continue;
      EXPECT_GE(found.score, greedy.score) << "seed " << seed << ", beam " << beam;
      ++compared;
      if (found.score > greedy.score + 1e-6) ++better;
    }
  }
  EXPECT_GT(compared, 1500);
  EXPECT_GT(better, 300);
}

// Every token of a caption is one that was allowed there, and the whole obeys.
void expect_obedient(ExhaustiveSearch& all, const Hypothesis& caption, const std::string& what) {
  Tokens words;
  for (const int64_t token : caption.tokens) {
    if (static_cast<int64_t>(words.size()) < all.longest()) {
      const Tokens allowed = all.allowed(words);
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), token), allowed.end()) << what;
    } else {
      EXPECT_EQ(token, 2) << what;
    }
    if (token != 2) words.push_back(token);
  }
  EXPECT_TRUE(all.obeys(words)) << what;
  if (!caption.finished) EXPECT_EQ(static_cast<int64_t>(words.size()), all.longest()) << what;
}

std::vector<SearchOptions> all_ways(const SearchOptions& options) {
  std::vector<SearchOptions> ways;
  for (const Stopping stopping : {Stopping::bound, Stopping::full, Stopping::shrink}) {
    for (const int64_t beam : {1, 2, 4}) {
      for (const int64_t groups : {1, 2}) {
        if (beam % groups != 0) continue;
        ways.push_back(options);
        ways.back().stopping = stopping;
        ways.back().beam = ways.back().best = beam;
        ways.back().groups = groups;
      }
    }
  }
  ways.push_back(options);
  ways.back().sampling.samples = ways.back().best = 4;
  ways.push_back(ways.back());
  ways.back().sampling.top_k = 2;
  ways.back().sampling.temperature = 2;
  return ways;
}

TEST(SearchProperties, constraints_are_obeyed_by_every_way_of_searching) {
  int64_t tried = 0;
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    const std::optional<Case> known = constrained_case(seed);
    if (!known) continue;
    ++tried;
    ExhaustiveSearch all(known->model, 0, known->options);
    size_t way = 0;
    for (const SearchOptions& options : all_ways(known->options)) {
      const std::vector<Hypothesis> found = find(known->model, {0}, options)[0];
      ASSERT_FALSE(found.empty());
      for (const Hypothesis& caption : found) {
        expect_obedient(all, caption, fmt::format("seed {}, way {}", seed, way));
      }
      ++way;
    }
  }
  EXPECT_GT(tried, 250);
}

// Sorted, distinct, at most `best`, and each token's log-probability and map the model's own.
TEST(SearchProperties, captions_are_sorted_distinct_and_say_what_the_model_says) {
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    const std::optional<Case> known = constrained_case(seed);
    if (!known) continue;
    for (const SearchOptions& options : all_ways(known->options)) {
      const auto results = find(known->model, {3, 0}, options);
      ASSERT_EQ(results.size(), 2U);
      for (size_t b = 0; b < 2; ++b) {
        const std::vector<Hypothesis>& found = results[b];
        ASSERT_LE(static_cast<int64_t>(found.size()), options.best);
        const ExhaustiveSearch all(known->model, b == 0 ? 3 : 0, options);
        std::set<Tokens> distinct;
        for (size_t i = 0; i < found.size(); ++i) {
          distinct.insert(found[i].tokens);
          if (i > 0) EXPECT_LE(found[i].finished, found[i - 1].finished);
          if (i > 0 && found[i].finished == found[i - 1].finished) {
            EXPECT_LE(found[i].score, found[i - 1].score);
          }
          double sum = 0, ranked = 0;
          Tokens words;
          for (size_t t = 0; t < found[i].tokens.size(); ++t) {
            const int64_t token = found[i].tokens[t];
            const double own =
                known->model.log_probabilities(b == 0 ? 3 : 0, words)[static_cast<size_t>(token)];
            EXPECT_EQ(found[i].log_probabilities[t], own);
            EXPECT_EQ(found[i].maps[t].item<double>(), known->model.map(b == 0 ? 3 : 0, words));
            sum += own;
            ranked += all.ranked(words, token);
            words.push_back(token);
          }
          EXPECT_NEAR(found[i].log_probability, sum, 1e-9);
          if (!words.empty()) EXPECT_NEAR(found[i].score, all.score(ranked, words.size()), 1e-9);
          EXPECT_EQ(found[i].finished, !words.empty() && words.back() == 2);
        }
        EXPECT_EQ(distinct.size(), found.size()) << "seed " << seed;
      }
    }
  }
}

// What an input finds does not depend on the others in its batch, nor on its place there.
TEST(SearchProperties, inputs_are_searched_each_for_itself) {
  for (uint64_t seed = 0; seed < kModels; seed += 5) {
    const std::optional<Case> known = constrained_case(seed);
    if (!known) continue;
    for (SearchOptions options : all_ways(known->options)) {
      const std::vector<uint64_t> numbers = {9, 4, 7, 4};
      options.sampling.inputs = numbers;
      const auto together = find(known->model, numbers, options);
      for (size_t b = 0; b < numbers.size(); ++b) {
        options.sampling.inputs = {numbers[b]};
        const std::vector<Hypothesis> alone = find(known->model, {numbers[b]}, options)[0];
        ASSERT_EQ(together[b].size(), alone.size());
        for (size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(together[b][i].tokens, alone[i].tokens);
      }
    }
  }
}

TEST(SearchProperties, a_narrow_beam_is_searched_as_its_contract_reads) {
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    RandomModel model = make_model(seed);
    model.max_tokens = 9;
    model.words = 5;
    SearchOptions options = ranking(seed);
    if (seed % 2 == 0) {
      model.max_tokens = 7;
      model.words = 4;
      options.constraints = random_constraints(seed, model);
      options.constraints.forced.clear();
      options.constraints.continuations.clear();
      if (!ExhaustiveSearch(model, 0, options).completes({})) continue;
    }
    const Stopping stoppings[] = {Stopping::bound, Stopping::full, Stopping::shrink};
    options.stopping = stoppings[seed % 3];
    options.groups = 1 + static_cast<int64_t>(seed / 3 % 3);
    options.beam = options.groups * (1 + static_cast<int64_t>(seed / 9 % 3));
    options.best = 1 + static_cast<int64_t>(seed) % options.beam;
    options.diversity = 0.4 * static_cast<double>(seed % 4);
    const std::vector<ScoredCaption> expected = PlainBeamSearch(model, options).run();
    const std::vector<Hypothesis> found = find(model, {0}, options)[0];
    ASSERT_EQ(found.size(), expected.size()) << "seed " << seed;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found[i].tokens, expected[i].tokens) << "seed " << seed << ", rank " << i;
      EXPECT_NEAR(found[i].score, expected[i].score, 1e-9);
      EXPECT_EQ(found[i].finished, expected[i].finished);
    }
  }
}

}  // namespace
}  // namespace gaze::models
