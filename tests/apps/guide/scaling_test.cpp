// Scores grow with the width and close the softmax, unless they are scaled: against scores that are drawn
// here.
#include <random>

#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

struct Softmax {
  double largest = 0, passes = 0;
};

// 32 scores, normal with a deviation: the largest weight, and how much of a gradient in a random direction
// passes, |w ⊙ (g - w·g)| for |g| = 1. Means over many draws.
Softmax of_normal_scores(double deviation) {
  constexpr int kKeys = 32, kDraws = 5000;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Softmax mean;
  for (int draw = 0; draw < kDraws; ++draw) {
    double w[kKeys], g[kKeys], sum = 0, length = 0, along = 0, passed = 0;
    for (int s = 0; s < kKeys; ++s) {
      sum += w[s] = std::exp(deviation * normal(random));
      g[s] = normal(random);
      length += g[s] * g[s];
    }
    for (int s = 0; s < kKeys; ++s) along += (w[s] /= sum) * (g[s] /= std::sqrt(length));
    for (int s = 0; s < kKeys; ++s) passed += std::pow(w[s] * (g[s] - along), 2);
    mean.largest += *std::max_element(w, w + kKeys) / kDraws;
    mean.passes += std::sqrt(passed) / kDraws;
  }
  return mean;
}

TEST(Scaling, keeps_the_softmax_open_at_every_width) {
  const std::string out = test::printed_by("scaling");
  const Softmax scaled = of_normal_scores(1);
  for (const int width : {4, 16, 64, 256, 1024}) {
    const std::vector<double> row = test::numbers_of(out, std::to_string(width));
    ASSERT_EQ(row.size(), 6U);
    EXPECT_NEAR(row[0] / width, 1, 0.15) << width;
    EXPECT_NEAR(row[3], 1, 0.15) << width;
    if (width < 64) continue;  // products of few numbers are no normal scores
    const Softmax plain = of_normal_scores(std::sqrt(width));
    EXPECT_NEAR(row[1], plain.largest, 0.02) << width;
    EXPECT_NEAR(row[2], plain.passes, 0.003) << width;
    EXPECT_NEAR(row[4], scaled.largest, 0.02) << width;
    EXPECT_NEAR(row[5], scaled.passes, 0.003) << width;
  }
}

}  // namespace
}  // namespace gaze
