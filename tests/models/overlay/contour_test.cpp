#include "models/overlay/contour.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/overlay/overlay.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

Geometry whole(int64_t size) {
  Geometry g;
  g.width = g.height = g.input_width = g.input_height = size;
  g.seen = {0, 0, static_cast<double>(size), static_cast<double>(size)};
  return g;
}

TEST(MassLevels, are_the_least_values_of_the_regions) {
  // 4 + 3 of 10, 4, all
  EXPECT_EQ(detail::mass_levels({1, 4, 2, 3}, {0.5, 0.4, 0.99}), (std::vector<double>{3, 4, 1}));
  EXPECT_EQ(detail::mass_levels({-5, 4, 0, 4}, {0.8}), (std::vector<double>{4}));  // below zero is no mass
  EXPECT_EQ(detail::mass_levels({0, 0, -1}, {0.5}),
            (std::vector<double>{std::numeric_limits<double>::infinity()}));
}

// A normal density of deviation s holds the share p within the radius s sqrt(-2 ln(1 - p)).
TEST(MassContour, of_a_normal_density_is_a_circle) {
  constexpr int64_t kSize = 200;
  constexpr double kDeviation = 25;
  Grid grid{kSize, kSize, {}};
  for (int64_t y = 0; y < kSize; ++y) {
    for (int64_t x = 0; x < kSize; ++x) {
      const double dx = static_cast<double>(x) + 0.5 - 100, dy = static_cast<double>(y) + 0.5 - 100;
      grid.values.push_back(
          static_cast<float>(std::exp(-(dx * dx + dy * dy) / (2 * kDeviation * kDeviation))));
    }
  }
  for (const double share : {0.5, 0.8}) {
    const auto segments = detail::mass_contours(whole(kSize), grid, Upsample::bilinear, {share})[0];
    const double radius = kDeviation * std::sqrt(-2 * std::log(1 - share));
    double length = 0;
    for (const detail::Segment& s : segments) {
      EXPECT_NEAR(std::hypot(s[0] - 100, s[1] - 100), radius, 0.3);
      length += std::hypot(s[2] - s[0], s[3] - s[1]);
    }
    EXPECT_NEAR(length, 2 * std::acos(-1.0) * radius, 0.02 * length);
  }
}

TEST(MassContour, runs_along_the_borders_of_cells) {
  Grid grid{4, 4, std::vector<float>(16, 0.0F)};
  grid.values[5] = 1;  // covers 10 ... 20 both ways
  const auto contours = detail::mass_contours(whole(40), grid, Upsample::cells, {0.5});
  EXPECT_FALSE(contours[0].empty());
  for (const detail::Segment& s : contours[0]) {
    for (const size_t end : {0, 2}) {
      const double away = std::max(std::abs(s[end] - 15), std::abs(s[end + 1] - 15));
      EXPECT_NEAR(away, 5, 1);
    }
  }
}

TEST(MassContour, a_map_without_mass_has_none) {
  const Grid grid{2, 2, {0, -1, 0, 0}};
  EXPECT_TRUE(detail::mass_contours(whole(20), grid, Upsample::bilinear, {0.5})[0].empty());
}

TEST(DrawMap, contours_touch_nothing_but_their_lines) {
  Grid grid{4, 4, std::vector<float>(16, 0.0F)};
  grid.values[5] = 1;
  DrawOptions options;
  options.opacity = 0;
  options.upsample = Upsample::cells;
  const Image picture = test::filled(400, 400, {90, 120, 150});
  const Image plain = draw_map(picture, whole(400), grid, options);
  options.contours = {0.5, 0.8};
  const Image drawn = draw_map(picture, whole(400), grid, options);
  int64_t white = 0;
  for (int64_t y = 0; y < 400; ++y) {
    for (int64_t x = 0; x < 400; ++x) {
      const double dx = std::abs(static_cast<double>(x) + 0.5 - 150),
                   dy = std::abs(static_cast<double>(y) + 0.5 - 150);
      const bool near = std::abs(std::max(dx, dy) - 50) < 6;
      if (!near) {
        ASSERT_EQ(test::pixel(drawn, x, y), test::pixel(plain, x, y)) << x << " " << y;
      }
      white += test::pixel(drawn, x, y)[0] == 255 ? 1 : 0;
    }
  }
  EXPECT_GT(white, 350);  // a line around 100 x 100
  options.contours = {1.5};
  EXPECT_THROWS_WITH(draw_map(picture, whole(400), grid, options), ArgumentError,
                     "[draw_map] expected contours that hold between 0 and 1 of the mass; got 1.500000");
}

}  // namespace
}  // namespace gaze::models
