#include "models/training/schedule.h"

#include <gtest/gtest.h>

namespace gaze::models {
namespace {

TEST(WarmupCosine, rises_linearly_then_falls_as_half_a_cosine) {
  // 100 steps, 10 of warm-up, peak 2, floor 0.1
  EXPECT_DOUBLE_EQ(warmup_cosine(0, 100, 10, 2.0, 0.1), 0.2);
  EXPECT_DOUBLE_EQ(warmup_cosine(4, 100, 10, 2.0, 0.1), 1.0);
  EXPECT_DOUBLE_EQ(warmup_cosine(10, 100, 10, 2.0, 0.1), 2.0);
  EXPECT_NEAR(warmup_cosine(55, 100, 10, 2.0, 0.1), 2.0 * (0.1 + 0.9 * 0.5),
              1e-12);  // half way: cos(pi/2) = 0
  EXPECT_NEAR(warmup_cosine(100, 100, 10, 2.0, 0.1), 0.2, 1e-12);
}

TEST(WarmupCosine, no_warmup_starts_at_the_peak) {
  EXPECT_DOUBLE_EQ(warmup_cosine(0, 10, 0, 0.5), 0.5);
}

}  // namespace
}  // namespace gaze::models
