#include "models/data/scene_geometry.h"

#include <gtest/gtest.h>

namespace gaze::models {
namespace {

constexpr int64_t kSize = 100;

Extent rectangle(int64_t x0, int64_t y0, int64_t x1, int64_t y1) {
  Mask mask(kSize * kSize, 0);
  for (int64_t y = y0; y < y1; ++y) {
    for (int64_t x = x0; x < x1; ++x) mask[static_cast<size_t>(y * kSize + x)] = 1;
  }
  return extent_of(mask, kSize, kSize);
}

TEST(Extent, IsBoxCentreAndArea) {
  const Extent extent = rectangle(10, 20, 14, 50);
  EXPECT_EQ(extent.x0, 10);
  EXPECT_EQ(extent.x1, 14);
  EXPECT_EQ(extent.y0, 20);
  EXPECT_EQ(extent.y1, 50);
  EXPECT_DOUBLE_EQ(extent.x, 12);
  EXPECT_DOUBLE_EQ(extent.y, 35);
  EXPECT_EQ(extent.area, 120);
}

TEST(Relation, HoldsByAClearMargin) {
  const Extent left = rectangle(10, 40, 30, 60), right = rectangle(60, 45, 90, 65);
  EXPECT_TRUE(relation_holds("left of", left, right, kSize, kSize));
  EXPECT_TRUE(relation_holds("right of", right, left, kSize, kSize));
  EXPECT_FALSE(relation_holds("left of", right, left, kSize, kSize));
  EXPECT_FALSE(relation_holds("above", left, right, kSize, kSize));
  // centres 20 apart: too close; 25 apart with a gap: enough
  EXPECT_FALSE(relation_holds("left of", rectangle(10, 40, 20, 60), rectangle(30, 40, 40, 60), kSize, kSize));
  EXPECT_TRUE(relation_holds("left of", rectangle(10, 40, 20, 60), rectangle(35, 40, 45, 60), kSize, kSize));
  // overlapping boxes
  EXPECT_FALSE(relation_holds("left of", rectangle(10, 40, 50, 60), rectangle(40, 40, 80, 60), kSize, kSize));
  // diagonal
  EXPECT_FALSE(relation_holds("left of", rectangle(10, 10, 30, 30), rectangle(60, 60, 90, 90), kSize, kSize));
}

TEST(Relation, AboveIsByRows) {
  const Extent top = rectangle(40, 5, 60, 25), bottom = rectangle(45, 60, 65, 90);
  EXPECT_TRUE(relation_holds("above", top, bottom, kSize, kSize));
  EXPECT_TRUE(relation_holds("below", bottom, top, kSize, kSize));
  EXPECT_FALSE(relation_holds("below", top, bottom, kSize, kSize));
}

TEST(Relation, NextToIsNear) {
  EXPECT_TRUE(relation_holds("next to", rectangle(50, 40, 80, 60), rectangle(20, 40, 45, 60), kSize, kSize));
  EXPECT_FALSE(relation_holds("next to", rectangle(70, 40, 90, 60), rectangle(20, 40, 45, 60), kSize, kSize));
}

TEST(Relation, UnknownOrEmptyNeverHolds) {
  const Extent left = rectangle(10, 40, 30, 60), right = rectangle(60, 45, 90, 65);
  EXPECT_FALSE(relation_holds("in front of", left, right, kSize, kSize));
  EXPECT_FALSE(relation_holds("left of", left, Extent(), kSize, kSize));
}

TEST(Relation, HasItsInverse) {
  EXPECT_EQ(inverse_relation("left of"), "right of");
  EXPECT_EQ(inverse_relation("behind"), "in front of");
  EXPECT_EQ(inverse_relation("next to"), "next to");
}

}  // namespace
}  // namespace gaze::models
