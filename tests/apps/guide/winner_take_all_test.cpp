// Softmax's winner: against the closed form, and against scores that are drawn here.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

constexpr int kKeys = 100;

TEST(WinnerTakeAll, one_key_ahead_has_the_weight_of_the_closed_form) {
  const std::string out = test::printed_by("winner_take_all");
  for (const auto& [label, gap] : {std::pair{"higher by 0.1", 0.1},
                                   {"higher by 0.5", 0.5},
                                   {"higher by 1", 1.0},
                                   {"higher by 2", 2.0}}) {
    std::vector<double> expected;
    for (const double scale : {1, 2, 4, 8, 16})
      expected.push_back(1 / (1 + (kKeys - 1) * std::exp(-gap * scale)));
    test::expect_numbers(test::numbers_of(out, label), expected, 6e-4, label);
  }
}

TEST(WinnerTakeAll, drawn_scores_leave_fewer_and_fewer_keys) {
  constexpr int kDraws = 4000;
  const double scales[] = {0.5, 1, 2, 4, 8, 16};
  std::vector<double> first(6), second(6), bits(6), enough(6);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int draw = 0; draw < kDraws; ++draw) {
    double scores[kKeys];
    for (double& score : scores) score = normal(random);
    std::sort(scores, scores + kKeys, std::greater<>());
    for (int i = 0; i < 6; ++i) {
      double sum = 0, so_far = 0;
      for (const double score : scores) sum += std::exp(scales[i] * (score - scores[0]));
      const auto weight = [&](int s) { return std::exp(scales[i] * (scores[s] - scores[0])) / sum; };
      first[i] += weight(0) / kDraws;
      second[i] += weight(1) / kDraws;
      for (int s = 0; s < kKeys; ++s) {
        if (weight(s) > 0) bits[i] -= weight(s) * std::log2(weight(s)) / kDraws;
        if (so_far < 0.9) enough[i] += 1.0 / kDraws;
        so_far += weight(s);
      }
    }
  }
  const std::string out = test::printed_by("winner_take_all");
  test::expect_numbers(test::numbers_of(out, "largest weight"), first, 0.04, "largest weight");
  test::expect_numbers(test::numbers_of(out, "second largest weight"), second, 0.03, "second largest weight");
  test::expect_numbers(test::numbers_of(out, "entropy, bits"), bits, 0.15, "entropy");
  test::expect_numbers(test::numbers_of(out, "keys for 0.9 of weight"), enough, 1, "keys");
}

}  // namespace
}  // namespace gaze
