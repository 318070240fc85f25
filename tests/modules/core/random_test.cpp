#include "modules/core/random.h"

#include <gtest/gtest.h>

#include <array>

namespace gaze {
namespace {

// From a Python loop over the published SplitMix64 constants, keyed as random.h says.
TEST(Random, GivesTheseNumbersOnEveryMachine) {
  Random random{1, 2, 3};
  EXPECT_EQ(random.bits(), 0x185BB40C3C12CF8DULL);
  EXPECT_EQ(random.bits(), 0xC038BCD9E9D5E8B4ULL);
  EXPECT_EQ(random.uniform(), 0x1.5b42ef64891bdp-1);
}

TEST(Random, KeysAreSetApartByValueAndOrder) {
  EXPECT_NE(Random({1, 2}).bits(), Random({2, 1}).bits());
  EXPECT_NE(Random({1}).bits(), Random({1, 0}).bits());
  EXPECT_EQ(Random({7, 8}).bits(), Random({7, 8}).bits());
}

TEST(Random, IsEvenlySpread) {
  Random random{4};
  std::array<int, 6> counts{};
  double sum = 0;
  for (int i = 0; i < 60000; ++i) {
    counts[static_cast<size_t>(random.below(6))] += 1;
    const double value = random.uniform();
    ASSERT_TRUE(value >= 0 && value < 1);
    sum += value;
  }
  for (int count : counts) EXPECT_NEAR(count, 10000, 400);  // about four standard deviations
  EXPECT_NEAR(sum / 60000, 0.5, 0.005);
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random{5};
  bool low = false, high = false;
  for (int i = 0; i < 200; ++i) {
    const int64_t value = random.between(-1, 1);
    ASSERT_TRUE(value >= -1 && value <= 1);
    low |= value == -1;
    high |= value == 1;
  }
  EXPECT_TRUE(low && high);
}

}  // namespace
}  // namespace gaze
