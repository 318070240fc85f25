#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/image/preprocess.h"
#include "models/overlay/overlay.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using test::Rgb;

// The whole picture squashed to the model's input.
Geometry whole(int64_t width, int64_t height) {
  Geometry g;
  g.width = width;
  g.height = height;
  g.input_width = g.input_height = 224;
  g.input_to_image.a = static_cast<double>(width) / 224;
  g.input_to_image.e = static_cast<double>(height) / 224;
  g.seen = {0, 0, static_cast<double>(width), static_cast<double>(height)};
  return g;
}

Grid one_cell(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  Grid grid{rows, cols, std::vector<float>(static_cast<size_t>(rows * cols), 0.0F)};
  grid.values[static_cast<size_t>(row * cols + col)] = 1;
  return grid;
}

Rgb top_colour(Colormap map) {
  const Colour& c = colours(map)[255];
  return {c[0], c[1], c[2]};
}

Image photo(int64_t width, int64_t height, int seed) {
  Image image = test::filled(width, height, {0, 0, 0});
  for (size_t i = 0; i < image.rgb.size(); ++i)
    image.rgb[i] = static_cast<uint8_t>((i * 37 + i / 7 * static_cast<size_t>(seed)) % 251);
  return image;
}

TEST(Colormap, ends_are_those_of_matplotlib_in_rgb_order) {
  EXPECT_EQ(colours(Colormap::viridis)[0], (Colour{68, 1, 84}));
  EXPECT_EQ(colours(Colormap::viridis)[255], (Colour{253, 231, 37}));
  EXPECT_EQ(colours(Colormap::inferno)[255], (Colour{252, 255, 164}));
  EXPECT_EQ(colours(Colormap::gray)[7], (Colour{7, 7, 7}));
  const Colour turbo = colours(Colormap::turbo)[255];
  EXPECT_GT(turbo[0], 100);  // dark red
  EXPECT_LT(turbo[2], 20);
  EXPECT_THROWS_WITH(colormap_named("viridi"), ArgumentError,
                     "[overlay] unknown colormap \"viridi\"; did you mean \"viridis\"? known: viridis, "
                     "inferno, turbo, gray, blue_red");
  // matplotlib's RdBu_r
  EXPECT_EQ(colours(Colormap::blue_red)[0], (Colour{5, 48, 97}));
  EXPECT_EQ(colours(Colormap::blue_red)[255], (Colour{103, 0, 31}));
  EXPECT_EQ(colours(Colormap::blue_red)[51], (Colour{67, 147, 195}));
}

TEST(DrawMap, hottest_pixel_has_the_top_colour) {
  for (const Colormap map : {Colormap::viridis, Colormap::inferno, Colormap::turbo}) {
    DrawOptions options;
    options.colormap = map;
    options.opacity = 1;
    // 70 x 70, 7 x 7 cells: the middle of a cell lies between pixels, so cells are drawn whole.
    options.upsample = Upsample::cells;
    const Image drawn = draw_map(photo(70, 70, 3), whole(70, 70), one_cell(7, 7, 2, 5), options);
    EXPECT_EQ(test::pixel(drawn, 55, 25), top_colour(map));
  }
}

TEST(DrawMap, unattended_pixels_stay_bit_identical) {
  const Image picture = photo(70, 49, 5);
  DrawOptions options;
  options.opacity = 1;
  const Image drawn = draw_map(picture, whole(70, 49), one_cell(7, 7, 3, 3), options);
  int64_t changed = 0;
  for (int64_t y = 0; y < 49; ++y) {
    for (int64_t x = 0; x < 70; ++x) {
      // Bilinear weights reach one cell (10 x 7 pixels) around the cell's middle (35, 24.5).
      const bool reached = std::abs(static_cast<double>(x) + 0.5 - 35) < 10 &&
                           std::abs(static_cast<double>(y) + 0.5 - 24.5) < 7;
      const bool same = test::pixel(drawn, x, y) == test::pixel(picture, x, y);
      if (!reached) ASSERT_TRUE(same) << x << " " << y;
      changed += same ? 0 : 1;
    }
  }
  EXPECT_GT(changed, 100);
}

TEST(DrawMap, same_map_gives_the_same_colours_on_two_photographs) {
  DrawOptions options;
  options.opacity = 1;
  options.blend = Blend::constant;
  Grid grid{2, 3, {0.1F, 0.3F, 0.05F, 0.2F, 0.15F, 0.2F}};
  const Image a = draw_map(photo(30, 20, 3), whole(30, 20), grid, options);
  const Image b = draw_map(photo(30, 20, 11), whole(30, 20), grid, options);
  EXPECT_EQ(test::largest_difference(a, b), 0);
}

TEST(DrawMap, blends_by_weight_as_computed_by_hand) {
  // Two cells side by side on 8 x 1; lift of the right one 1.75 of at most 2: place (1.75 - 1) / (2 - 1) =
  // 0.75.
  DrawOptions options;
  options.opacity = 0.5;
  options.upsample = Upsample::cells;
  options.colormap = Colormap::gray;
  const Image drawn =
      draw_map(test::filled(8, 1, {100, 0, 255}), whole(8, 1), {1, 2, {0.125F, 0.875F}}, options);
  EXPECT_EQ(test::pixel(drawn, 0, 0), (Rgb{100, 0, 255}));
  // Colour 191, share 0.5 * sqrt(0.75) = 0.433: 100 + 0.433 * 91 = 139.4; 0.433 * 191 = 82.7; 255 - 0.433 *
  // 64 = 227.3.
  EXPECT_EQ(test::pixel(drawn, 7, 0), (Rgb{139, 83, 227}));
  options.gamma = 2;  // strength 0.5625: colour 143, share 0.5 * 0.75 = 0.375: 116.1, 53.6, 213
  EXPECT_EQ(
      test::pixel(draw_map(test::filled(8, 1, {100, 0, 255}), whole(8, 1), {1, 2, {0.125F, 0.875F}}, options),
                  7, 0),
      (Rgb{116, 54, 213}));
}

TEST(DrawMap, signed_values_are_coloured_both_ways_from_zero) {
  DrawOptions options;
  options.opacity = 1;
  options.upsample = Upsample::cells;
  options.colormap = Colormap::blue_red;
  options.scale = Scale::signed_values;
  const Image drawn =
      draw_map(test::filled(8, 1, {10, 20, 30}), whole(8, 1), {1, 4, {-4.0F, 0.0F, 4.0F, 1.0F}}, options);
  EXPECT_EQ(test::pixel(drawn, 0, 0), (Rgb{5, 48, 97}));
  EXPECT_EQ(test::pixel(drawn, 2, 0), (Rgb{10, 20, 30}));
  EXPECT_EQ(test::pixel(drawn, 4, 0), (Rgb{103, 0, 31}));
  // A quarter of the way: colour 159 of 255, share sqrt(0.25).
  const Colour quarter = colours(Colormap::blue_red)[159];
  EXPECT_EQ(test::pixel(drawn, 6, 0)[0], std::lround(10 + 0.5 * (quarter[0] - 10)));
}

TEST(DrawMap, borders_of_cells_are_thin_lines) {
  DrawOptions options;
  options.opacity = 0;
  options.grid = true;
  const Image picture = photo(40, 40, 3);
  const Image drawn = draw_map(picture, whole(40, 40), one_cell(4, 4, 1, 1), options);
  for (int64_t y = 0; y < 40; ++y) {
    for (int64_t x = 0; x < 40; ++x) {
      const bool border = (x % 10 == 0 || y % 10 == 0) && x > 0 && y > 0;
      EXPECT_EQ(test::pixel(drawn, x, y) != test::pixel(picture, x, y), border) << x << " " << y;
    }
  }
}

TEST(DrawMap, bilinear_has_half_pixel_centres_and_clamps_at_the_border) {
  // Two cells on 8 x 1: centres at x 2 and 6. Pixel centres 0.5 ... 7.5 see (x - 2) / 4 of the way, clamped.
  DrawOptions options;
  options.opacity = 1;
  options.blend = Blend::constant;
  options.colormap = Colormap::gray;
  options.scale = Scale::fixed;
  const Image drawn = draw_map(test::filled(8, 1, {9, 9, 9}), whole(8, 1), {1, 2, {0.0F, 1.0F}}, options);
  const std::vector<int> expected = {0, 0, 32, 96, 159, 223, 255, 255};  // 0, 0, 1/8, 3/8, 5/8, 7/8, 1, 1
  for (int64_t x = 0; x < 8; ++x)
    EXPECT_EQ(test::pixel(drawn, x, 0)[0], expected[static_cast<size_t>(x)]) << x;
}

// The middle of what was drawn, weighted by colour.
std::array<double, 2> middle(const Image& drawn) {
  double sum = 0, sum_x = 0, sum_y = 0;
  for (int64_t y = 0; y < drawn.height; ++y) {
    for (int64_t x = 0; x < drawn.width; ++x) {
      const double light = test::pixel(drawn, x, y)[0];
      sum += light;
      sum_x += light * (static_cast<double>(x) + 0.5);
      sum_y += light * (static_cast<double>(y) + 0.5);
    }
  }
  return {sum_x / sum, sum_y / sum};
}

struct Placement {
  const char* name;
  int64_t width, height;
  ResizeMode mode;
  double x, y;  // of the middle of cell (row 2, col 4) of 7 x 7, worked out by hand
};

class DrawnPlace : public ::testing::TestWithParam<Placement> {};

TEST_P(DrawnPlace, is_within_a_pixel) {
  const Placement& p = GetParam();
  Preprocessing preprocessing;
  preprocessing.mode = p.mode;
  const Image black = test::filled(p.width, p.height, {0, 0, 0});
  Geometry geometry = preprocess(black, preprocessing).geometry;
  geometry.seen = {0, 0, static_cast<double>(p.width),
                   static_cast<double>(p.height)};  // no hatching, which is light too
  DrawOptions options;
  options.colormap = Colormap::gray;
  const auto [x, y] = middle(draw_map(black, geometry, one_cell(7, 7, 2, 4), options));
  EXPECT_NEAR(x, p.x, 1);
  EXPECT_NEAR(y, p.y, 1);
}

// Cell (2, 4) has its middle at input (144, 80).
INSTANTIATE_TEST_SUITE_P(Pictures, DrawnPlace,
                         ::testing::Values(Placement{"plain", 640, 480, ResizeMode::squash, 411.4,
                                                     171.4},  // 144 * 640 / 224, 80 * 480 / 224
                                           Placement{"portrait", 480, 640, ResizeMode::squash, 308.6,
                                                     228.6},  // 144 * 480 / 224, 80 * 640 / 224
                                           Placement{"cropped", 640, 480, ResizeMode::crop, 379.1,
                                                     180},  // (144 + 58) * 640 / 341, (80 + 16) * 1.875
                                           Placement{"letterboxed", 640, 480, ResizeMode::letterbox, 411.4,
                                                     148.6},  // (80 - 28) * 480 / 168
                                           Placement{"small", 64, 48, ResizeMode::squash, 41.1, 17.1}),
                         [](const auto& info) { return info.param.name; });

TEST(DrawMap, hatches_only_what_was_not_seen) {
  Geometry geometry = whole(100, 60);
  geometry.seen = {20, 0, 60, 60};
  const Image picture = photo(100, 60, 3);
  const Image drawn = draw_map(picture, geometry, one_cell(1, 3, 0, 1), {});
  int64_t hatched = 0;
  for (int64_t y = 0; y < 60; ++y) {
    for (int64_t x = 0; x < 100; ++x) {
      const bool same = test::pixel(drawn, x, y) == test::pixel(picture, x, y);
      if (x < 20 || x >= 80) hatched += same ? 0 : 1;
      // The one cell's middle is at x 50; its weight reaches from 16.7 to 83.3, the seen part is free of
      // hatching.
      if (x >= 20 && x < 80 && x < 17) EXPECT_TRUE(same);
    }
  }
  EXPECT_GT(hatched, 40 * 60 * 95 / 100);
  // With nothing to draw, what was seen is the picture itself.
  Grid low{1, 2, {0.5F, 0.4F}};
  DrawOptions options;
  options.scale = Scale::fixed;
  options.range = ValueRange{0.9, 1};
  const Image untouched = draw_map(picture, geometry, low, options);
  for (int64_t x = 20; x < 80; ++x)
    EXPECT_EQ(test::pixel(untouched, x, 30), test::pixel(picture, x, 30)) << x;
  EXPECT_NE(test::pixel(untouched, 19, 30), test::pixel(picture, 19, 30));
  EXPECT_NE(test::pixel(untouched, 80, 30), test::pixel(picture, 80, 30));
}

TEST(DrawMap, maps_that_show_nothing_are_labelled_states) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Image picture = photo(300, 200, 3);
  std::vector<Image> drawn;
  for (const float value : {0.0F, 0.25F, nan}) {
    drawn.push_back(draw_map(picture, whole(300, 200), {2, 2, {value, value, value, value}}, {}));
    // No colour anywhere above the line of text.
    for (int64_t y = 0; y < 150; ++y) {
      for (int64_t x = 0; x < 300; ++x)
        ASSERT_EQ(test::pixel(drawn.back(), x, y), test::pixel(picture, x, y));
    }
    EXPECT_GT(test::largest_difference(drawn.back(), picture), 0);
  }
  EXPECT_GT(test::largest_difference(drawn[0], drawn[1]), 0) << "each says which";
  EXPECT_GT(test::largest_difference(drawn[1], drawn[2]), 0) << "each says which";
}

TEST(DrawMap, any_size_of_picture_and_grid) {
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{1, 1}, {1, 9}, {300, 2}}) {
    for (const float fill : {0.0F, 0.5F}) {
      Grid grid = one_cell(3, 1, 2, 0);
      grid.values[0] = fill;
      const Image drawn = draw_map(photo(width, height, 3), whole(width, height), grid, {});
      EXPECT_EQ(drawn.width, width);
      EXPECT_EQ(drawn.height, height);
      draw_map(photo(width, height, 3), whole(width, height), {1, 1, {fill}}, {});
    }
  }
}

TEST(DrawMap, errors) {
  const Image picture = photo(4, 4, 3);
  EXPECT_THROWS_WITH(draw_map(picture, whole(4, 4), {2, 2, {1}}, {}), ArgumentError,
                     "[draw_map] expected a grid of rows * cols values; got 1 values for 2 x 2");
  EXPECT_THROWS_WITH(draw_map(picture, whole(5, 4), {1, 1, {1}}, {}), ArgumentError,
                     "[draw_map] expected the picture of the geometry, 5 x 4; got 4 x 4");
  DrawOptions options;
  options.opacity = 2;
  EXPECT_THROW(draw_map(picture, whole(4, 4), {1, 1, {1}}, options), ArgumentError);
  options.opacity = 1;
  options.gamma = 0;
  EXPECT_THROW(draw_map(picture, whole(4, 4), {1, 1, {1}}, options), ArgumentError);
}

TEST(WithLegend, keeps_the_picture_and_adds_below) {
  for (const int64_t width : {1, 90, 640}) {
    const Image picture = photo(width, 50, 3);
    const Image result = with_legend(
        picture, {"d\xC3\xB6g", "93 %, peak 4.2x", true, {1, 6.3}, Scale::lift, Colormap::viridis});
    ASSERT_GE(result.width, width);
    ASSERT_GT(result.height, 50);
    for (int64_t y = 0; y < 50; ++y) {
      for (int64_t x = 0; x < width; ++x) ASSERT_EQ(test::pixel(result, x, y), test::pixel(picture, x, y));
    }
    // The bar's ends have the ends' colours.
    int64_t low = 0, high = 0;
    for (int64_t y = 50; y < result.height; ++y) {
      for (int64_t x = 0; x < result.width; ++x) {
        low += test::pixel(result, x, y) == (Rgb{68, 1, 84}) ? 1 : 0;
        high += test::pixel(result, x, y) == (Rgb{253, 231, 37}) ? 1 : 0;
      }
    }
    EXPECT_GT(low, 0) << width;
    EXPECT_GT(high, 0) << width;
  }
}

}  // namespace
}  // namespace gaze::models
