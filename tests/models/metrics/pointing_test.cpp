#include "models/metrics/pointing.h"

#include <gtest/gtest.h>

#include <limits>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

// 8 x 4 picture (width 8) of 2 x 4 cells, 2 x 2 pixels each; the thing is the pixel at column 5, row 2.
constexpr std::array<double, 6> kTwice = {2, 0, 0, 0, 2, 0};

std::vector<uint8_t> one_pixel(int64_t column, int64_t row) {
  std::vector<uint8_t> mask(32, 0);
  mask[static_cast<size_t>(row * 8 + column)] = 1;
  return mask;
}

std::vector<float> hot(std::initializer_list<size_t> cells) {
  std::vector<float> values(8, 0.1F);
  for (size_t cell : cells) values[cell] = 0.4F;
  return values;
}

TEST(Pointing, TakesTheCentreOfTheHottestCellWithoutTolerance) {
  // Cell (row 1, col 2) has its centre at (5, 3): the pixel of column 5, row 3.
  const auto values = hot({1 * 4 + 2});
  EXPECT_EQ(pointing_hit(values, 2, 4, kTwice, {one_pixel(5, 3), 8, 4}), 1);
  for (const auto& [column, row] : {std::pair{4, 3}, {6, 3}, {5, 2}}) {
    EXPECT_EQ(pointing_hit(values, 2, 4, kTwice, {one_pixel(column, row), 8, 4}), 0) << column << ' ' << row;
  }
}

TEST(Pointing, FollowsAnyAffine) {
  // A quarter turn: x' = 4 - 2 y, y' = 2 x, of the centre (0.5, 0.5): (3, 1).
  const auto values = hot({0});
  EXPECT_EQ(pointing_hit(values, 2, 4, {0, -2, 4, 2, 0, 0}, {one_pixel(3, 1), 8, 4}), 1);
  EXPECT_EQ(pointing_hit(values, 2, 4, {0, -2, 4, 2, 0, 0}, {one_pixel(1, 1), 8, 4}), 0);
}

TEST(Pointing, SharesATie) {
  EXPECT_DOUBLE_EQ(pointing_hit(hot({0, 6, 7}), 2, 4, kTwice, {one_pixel(5, 3), 8, 4}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(pointing_hit(hot({}), 2, 4, kTwice, {one_pixel(5, 3), 8, 4}), 1.0 / 8);
}

TEST(Pointing, MissesOutsideThePicture) {
  EXPECT_EQ(pointing_hit(hot({0}), 2, 4, {2, 0, -20, 0, 2, 0}, {std::vector<uint8_t>(32, 1), 8, 4}), 0);
}

TEST(Pointing, CentreIsThePixelRightBelowTheMiddle) {
  EXPECT_EQ(centre_hit({one_pixel(4, 2), 8, 4}), 1);
  EXPECT_EQ(centre_hit({one_pixel(3, 2), 8, 4}), 0);
}

TEST(Pointing, SaysWhatIsWrong) {
  const std::vector<uint8_t> mask(32, 0);
  EXPECT_THROWS_WITH(pointing_hit({1, 2}, 2, 4, kTwice, {mask, 8, 4}), ArgumentError,
                     "[pointing] expected values [2, 4]; got 2 values");
  std::vector<float> values(8, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THROWS_WITH(pointing_hit(values, 2, 4, kTwice, {mask, 8, 4}), ArgumentError,
                     "[pointing] expected values that are numbers; got NaN");
}

}  // namespace
}  // namespace gaze::models
