#include "models/overlay/map_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gaze::models {
namespace {

const float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(MapSummary, known_numbers) {
  const MapSummary summary = summarise({2, 2, {0.5F, 0.25F, 0.25F, 0}});
  EXPECT_EQ(summary.state, MapState::normal);
  EXPECT_DOUBLE_EQ(summary.min, 0);
  EXPECT_DOUBLE_EQ(summary.max, 0.5);
  EXPECT_NEAR(summary.entropy, 1.5 * std::log(2.0), 1e-12);  // 1/2 ln 2 + 2 * 1/4 ln 4
  EXPECT_DOUBLE_EQ(summary.peak_lift, 2);
}

TEST(MapSummary, gates_count_by_their_share) {
  const MapSummary summary = summarise({1, 2, {0.9F, 0.3F}});
  EXPECT_NEAR(summary.peak_lift, 1.5, 1e-6);
}

TEST(MapSummary, states) {
  EXPECT_EQ(summarise({1, 3, {0.25F, 0.25F, 0.25F}}).state, MapState::flat);
  EXPECT_NEAR(summarise({1, 3, {0.25F, 0.25F, 0.25F}}).peak_lift, 1, 1e-6);
  EXPECT_EQ(summarise({1, 3, {0.25F, 0.25F, 0.2500001F}}).state, MapState::flat);
  EXPECT_EQ(summarise({1, 3, {0.25F, 0.25F, 0.2501F}}).state, MapState::normal);
  EXPECT_EQ(summarise({1, 3, {1e-9F, 2e-9F, 1e-9F}}).state, MapState::normal);
  const MapSummary zero = summarise({1, 2, {0, 0}});
  EXPECT_EQ(zero.state, MapState::zero);
  EXPECT_TRUE(std::isnan(zero.entropy));
  EXPECT_EQ(summarise({1, 2, {0, kNaN}}).state, MapState::not_finite);
  EXPECT_EQ(summarise({1, 2, {0, INFINITY}}).state, MapState::not_finite);
  EXPECT_EQ(summarise({0, 0, {}}).state, MapState::not_finite);
  EXPECT_TRUE(std::isnan(summarise({1, 2, {-1, 2}}).peak_lift));
  EXPECT_DOUBLE_EQ(summarise({1, 3, {-1, 2, 1}}).against, 0.25);
  EXPECT_EQ(state_text(MapState::normal), "");
  EXPECT_EQ(state_text(MapState::flat), "flat map: every cell alike");
}

TEST(RangeOf, is_shared_and_starts_at_uniform) {
  const std::vector<Grid> grids = {
      {1, 4, {0.25F, 0.25F, 0.25F, 0.25F}}, {1, 4, {0.75F, 0.25F, 0, 0}}, {1, 1, {kNaN}}};
  const ValueRange lift = range_of(grids, Scale::lift);
  EXPECT_DOUBLE_EQ(lift.low, 1);
  EXPECT_DOUBLE_EQ(lift.high, 3);
  EXPECT_DOUBLE_EQ(range_of({grids[0]}, Scale::lift).high, 2);  // a faint map stays faint
  EXPECT_DOUBLE_EQ(range_of(grids, Scale::map).low, 0);
  EXPECT_DOUBLE_EQ(range_of(grids, Scale::map).high, 0.75);
  EXPECT_DOUBLE_EQ(range_of(grids, Scale::fixed).high, 1);
  EXPECT_DOUBLE_EQ(range_of({}, Scale::map).high, 1);
}

}  // namespace
}  // namespace gaze::models
