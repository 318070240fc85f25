#include "models/data/mask_rle.h"

#include <gtest/gtest.h>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(MaskRle, RunsDownTheColumns) {
  // 3 wide, 2 high:  0 1 1
  //                  0 1 0
  const Mask mask = {0, 1, 1, 0, 1, 0};
  EXPECT_EQ(run_lengths(mask, 3, 2), (std::vector<int64_t>{2, 3, 1}));
  EXPECT_EQ(mask_from_runs({2, 3, 1}, 3, 2), mask);
}

TEST(MaskRle, StartsWithZeros) {
  const Mask mask = {1, 1};
  EXPECT_EQ(run_lengths(mask, 1, 2), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(mask_from_runs({0, 2}, 1, 2), mask);
  EXPECT_EQ(run_lengths({0, 0}, 2, 1), (std::vector<int64_t>{2}));
}

TEST(MaskRle, RefusesRunsThatDoNotFill) {
  EXPECT_THROWS_WITH(mask_from_runs({2, 3}, 3, 2), ArgumentError,
                     "[mask] expected runs that fill 6 pixels; got 5");
  EXPECT_THROWS_WITH(mask_from_runs({2, 5}, 3, 2), ArgumentError,
                     "[mask] expected runs that fill 6 pixels; got a run of 5 at 2");
  EXPECT_THROWS_WITH(mask_from_runs({-1}, 3, 2), ArgumentError,
                     "[mask] expected runs that fill 6 pixels; got a run of -1 at 0");
}

}  // namespace
}  // namespace gaze::models
