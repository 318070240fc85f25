#include <gtest/gtest.h>

#include "models/overlay/label.h"
#include "models/overlay/overlay.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"

namespace gaze::models {
namespace {

Geometry whole(int64_t width, int64_t height) {
  Geometry g;
  g.width = g.input_width = width;
  g.height = g.input_height = height;
  g.seen = {0, 0, static_cast<double>(width), static_cast<double>(height)};
  return g;
}

std::vector<StripWord> words(int64_t count) {
  std::vector<StripWord> all;
  for (int64_t i = 0; i < count; ++i) {
    Grid grid{2, 2, {0, 0, 0, 0}};
    grid.values[static_cast<size_t>(i % 4)] = 1;
    all.push_back({"word" + std::to_string(i), 0.5, grid});
  }
  return all;
}

TEST(Strip, grows_in_rows_and_never_scales_its_tiles) {
  const Image picture = test::filled(640, 480, {90, 90, 90});
  const Image one = draw_strip(picture, whole(640, 480), "a dog", words(3));
  const Image two = draw_strip(picture, whole(640, 480), "a dog", words(8));
  EXPECT_GT(one.width, 4 * 320);  // the picture and three words
  EXPECT_LT(one.width, 5 * 320);
  EXPECT_GT(two.width, 5 * 320);  // nine tiles: five and four
  EXPECT_LT(two.width, 6 * 320);
  EXPECT_GT(two.height, one.height + 240);
}

TEST(Strip, first_tile_is_the_picture_others_have_their_map) {
  const Image picture = test::filled(320, 320, {90, 90, 90});
  StripOptions options;
  options.draw.upsample = Upsample::cells;
  options.draw.opacity = 1;
  options.tile = 320;
  const Image strip = draw_strip(picture, whole(320, 320), "x", words(2), options);
  // Top of the tiles: the first row that has the picture's gray below the caption.
  int64_t top = 0;
  while (test::pixel(strip, 20 + 300, top) != (test::Rgb{90, 90, 90})) ++top;
  const auto at = [&](int64_t tile, int64_t x, int64_t y) {
    return test::pixel(strip, 20 + tile * (320 + 14) + x, top + y);
  };
  const test::Rgb hot = {253, 231, 37}, plain = {90, 90, 90};
  EXPECT_EQ(at(0, 80, 80), plain);
  EXPECT_EQ(at(1, 80, 80), hot);
  EXPECT_EQ(at(1, 240, 80), plain);
  EXPECT_EQ(at(2, 80, 80), plain);
  EXPECT_EQ(at(2, 240, 80), hot);
}

TEST(Strip, any_picture_and_any_caption) {
  for (const auto& [width, height] : {std::pair<int64_t, int64_t>{1, 1}, {2000, 30}, {30, 2000}}) {
    const Image strip =
        draw_strip(test::filled(width, height, {9, 90, 200}), whole(width, height),
                   "a caption so long that it needs more than one line of a strip this narrow", words(1));
    EXPECT_GE(strip.width, 200);
    EXPECT_GE(strip.height, 60);
  }
  const Image bare = draw_strip(test::filled(64, 48, {9, 90, 200}), whole(64, 48), "", {});
  EXPECT_GT(bare.width, 320);
  EXPECT_THROW(draw_strip(bare, whole(1, 1), "", words(1)), ArgumentError);
}

TEST(Label, other_scripts_become_question_marks_and_accents_go) {
  EXPECT_EQ(detail::to_ascii("dog 5%"), "dog 5%");
  EXPECT_EQ(detail::to_ascii("caf\xC3\xA9 \xC3\x84\xC3\x96\xC3\x9C"), "cafe AOU");
  EXPECT_EQ(detail::to_ascii("\xE7\x8A\xAC\xE3\x81\xAE"), "??");
  EXPECT_EQ(detail::to_ascii("\xF0\x9F\x90\xB6!"), "?!");
  EXPECT_EQ(detail::to_ascii("a\nb"), "a b");
  EXPECT_EQ(detail::to_ascii("\xC3"), "?");  // a torn letter
  EXPECT_EQ(detail::to_ascii("\x80\xBF"), "?");
}

TEST(Label, ink_is_where_it_was_asked_for) {
  Image page = detail::blank_picture(100, 40, {255, 255, 255});
  const detail::TextStyle style{14, true, {10, 20, 30}};
  detail::draw_text(page, 10, 30, "HH", style);
  const int64_t width = detail::text_width("HH", style);
  EXPECT_GT(width, 14);
  EXPECT_LT(width, 50);
  int64_t dark = 0;
  for (int64_t y = 0; y < 40; ++y) {
    for (int64_t x = 0; x < 100; ++x) {
      if (test::pixel(page, x, y)[0] > 130) continue;
      ++dark;
      EXPECT_TRUE(x >= 10 && x < 10 + width + 2 && y >= 30 - 14 - 2 && y <= 32) << x << " " << y;
    }
  }
  EXPECT_GT(dark, 60);
  EXPECT_LE(detail::text_width(detail::shortened("a very long word indeed", style, 60), style), 60);
  EXPECT_EQ(detail::shortened("dog", style, 200), "dog");
}

}  // namespace
}  // namespace gaze::models
