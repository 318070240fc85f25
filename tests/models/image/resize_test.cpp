#include <gtest/gtest.h>

#include <cmath>

#include "models/image/preprocess.h"
#include "models/image/resize_window.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

const std::vector<std::pair<std::string, Filter>> kFilters = {{"nearest", Filter::nearest},
                                                              {"bilinear", Filter::bilinear},
                                                              {"bicubic", Filter::bicubic},
                                                              {"lanczos", Filter::lanczos}};

TEST(Resize, agrees_with_pillow) {
  const Image noise = load_image(test::golden_image("noise_37x29.png"));
  int largest = 0;
  for (const auto& [name, filter] : kFilters) {
    for (const auto& [width, height] :
         {std::pair{16, 12}, {1, 1}, {53, 7}, {5, 61}, {37, 11}, {36, 20}, {45, 33}}) {
      const std::string file =
          "resize_" + name + "_" + std::to_string(width) + "x" + std::to_string(height) + ".png";
      const int difference = test::largest_difference(resize(noise, width, height, filter),
                                                      load_image(test::golden_image(file)));
      EXPECT_LE(difference, 1) << file;
      largest = std::max(largest, difference);
    }
  }
  std::printf("largest difference from Pillow: %d grey levels\n", largest);
}

TEST(Resize, known_numbers) {
  // Two pixels, 0 and 100, to four: centres at 0.25, 0.75, 1.25, 1.75 of the input.
  Image two = test::filled(2, 1, {0, 0, 0});
  test::paint(two, 1, 0, 2, 1, {100, 100, 100});
  const Image four = resize(two, 4, 1, Filter::bilinear);
  EXPECT_EQ(test::pixel(four, 0, 0)[0], 0);
  EXPECT_EQ(test::pixel(four, 1, 0)[0], 25);
  EXPECT_EQ(test::pixel(four, 2, 0)[0], 75);
  EXPECT_EQ(test::pixel(four, 3, 0)[0], 100);
  // Four pixels to one, bilinear: triangle of half width 4 about 2, at 0.5, 1.5, 2.5, 3.5: weights 5, 7, 7, 5
  // of 24.
  Image ramp = test::filled(4, 1, {0, 0, 0});
  test::paint(ramp, 3, 0, 4, 1, {240, 240, 240});
  EXPECT_EQ(test::pixel(resize(ramp, 1, 1, Filter::bilinear), 0, 0)[0], 50);
}

TEST(Resize, constant_stays_constant_and_same_size_is_the_same) {
  const Image noise = load_image(test::golden_image("noise_37x29.png"));
  for (const auto& [name, filter] : kFilters) {
    const Image constant = resize(test::filled(31, 17, {255, 128, 3}), 9, 40, filter);
    EXPECT_EQ(test::largest_difference(constant, test::filled(9, 40, {255, 128, 3})), 0) << name;
    EXPECT_EQ(test::largest_difference(resize(noise, 37, 29, filter), noise), 0) << name;
  }
}

TEST(Resize, window_is_a_part_of_the_whole) {
  const Image noise = load_image(test::golden_image("noise_37x29.png"));
  for (const auto& [name, filter] : kFilters) {
    for (const auto& [width, height] : {std::pair<int64_t, int64_t>{50, 20}, {20, 50}, {37, 29}}) {
      const Image whole = resize(noise, width, height, filter);
      const Image part = detail::resize_window(noise, width, height, filter, {3, 5, 11, 13});
      ASSERT_EQ(part.width, 11);
      ASSERT_EQ(part.height, 13);
      for (int64_t y = 0; y < 13; ++y) {
        for (int64_t x = 0; x < 11; ++x)
          ASSERT_EQ(test::pixel(part, x, y), test::pixel(whole, x + 3, y + 5)) << name;
      }
    }
  }
}

TEST(Resize, errors) {
  EXPECT_THROWS_WITH(resize(test::filled(2, 2, {0, 0, 0}), 0, 5, Filter::bilinear), ArgumentError,
                     "[resize] expected a new size of at least 1 x 1; got 0 x 5");
  EXPECT_THROWS_WITH(resize(Image{}, 5, 5, Filter::bilinear), ArgumentError,
                     "[resize] expected a picture of at least 1 x 1; got 0 x 0");
}

}  // namespace
}  // namespace gaze::models
