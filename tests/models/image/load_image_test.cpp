#include <gtest/gtest.h>

#include "models/image/image.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

using test::Rgb;

// Checks all 8 x 6 pixels of a golden picture against `expected(x, y)`.
template <typename Expected>
void expect_pixels(const std::string& name, Expected expected, int tolerance = 0) {
  SCOPED_TRACE(name);
  const Image image = load_image(test::golden_image(name));
  ASSERT_EQ(image.width, 8);
  ASSERT_EQ(image.height, 6);
  for (int y = 0; y < 6; ++y) {
    for (int x = 0; x < 8; ++x) {
      const Rgb got = test::pixel(image, x, y);
      const Rgb wanted = expected(x, y);
      for (size_t c = 0; c < 3; ++c) {
        ASSERT_NEAR(got[c], wanted[c], tolerance) << "x " << x << " y " << y << " channel " << c;
      }
    }
  }
}

Rgb colour(int x, int y) {
  return {30 * x, 40 * y, 17};
}
Rgb grey(int value) {
  return {value, value, value};
}
int rounded(double value) {
  return static_cast<int>(value + 0.5);
}
// `value` of 0..255 with `alpha` of 0..255 over white.
int over_white(double value, double alpha) {
  return rounded((value * alpha + 255 * (255 - alpha)) / 255);
}

TEST(LoadImage, every_format_gives_the_same_rgb) {
  for (const char* name : {"rgb.png", "rgb.bmp", "rgb.tif", "lzw.tif", "rgb.webp", "palette.png",
                           "palette.bmp", "palette.tif", "bad_profile.png"}) {
    expect_pixels(name, colour);
  }
}

TEST(LoadImage, cmyk_tiff_becomes_rgb) {
  expect_pixels("cmyk.tif", colour, 1);
}

TEST(LoadImage, gray_becomes_rgb) {
  for (const char* name : {"gray.png", "gray.bmp", "gray.tif"}) {
    expect_pixels(name, [](int x, int y) { return grey(5 * (x + 8 * y)); });
  }
  for (const char* name : {"one_bit.png", "one_bit.tif"}) {
    expect_pixels(name, [](int x, int y) { return grey((x + y) % 2 * 255); });
  }
}

TEST(LoadImage, alpha_is_composited_on_white) {
  const auto expected = [](int x, int y) {
    const int alpha = 5 * (x + 8 * y);
    return Rgb{over_white(30 * x, alpha), over_white(40 * y, alpha), over_white(17, alpha)};
  };
  expect_pixels("rgba.png", expected);
  expect_pixels("rgba.webp", expected);
  expect_pixels("rgba.tif", expected, 1);  // libtiff rounds the product of colour and alpha
  expect_pixels("gray_alpha.png",
                [](int x, int y) { return grey(over_white(5 * (x + 8 * y), 5 * (x + 8 * y))); });
}

TEST(LoadImage, transparent_colours_become_white) {
  const auto white_at_1_1 = [](int x, int y) { return x == 1 && y == 1 ? Rgb{255, 255, 255} : colour(x, y); };
  expect_pixels("palette_transparent.png", white_at_1_1);
  expect_pixels("rgb_transparent.png", white_at_1_1);
  expect_pixels("gray_transparent.png",
                [](int x, int y) { return x == 1 && y == 1 ? grey(255) : grey(5 * (x + 8 * y)); });
}

TEST(LoadImage, sixteen_bits_are_divided_by_257_and_rounded) {
  const auto sixteen = [](int x, int y) { return 1300.0 * (x + 8 * y); };
  for (const char* name : {"gray16.png", "gray16.tif"}) {
    expect_pixels(name, [&](int x, int y) { return grey(rounded(sixteen(x, y) / 257)); });
  }
  // 128 / 257 is below a half, so blue is 0.
  expect_pixels("rgb16.png", [&](int x, int y) {
    return Rgb{rounded(sixteen(x, y) / 257), rounded((65535 - sixteen(x, y)) / 257), 0};
  });
  expect_pixels("rgba16.png", [&](int x, int y) {
    const double alpha = sixteen(x, y) / 65535;
    const auto blend = [&](double value) { return rounded((value * alpha + 65535 * (1 - alpha)) / 257); };
    return Rgb{blend(sixteen(x, y)), blend(65535 - sixteen(x, y)), blend(128)};
  });
}

TEST(LoadImage, one_pixel) {
  const Image image = load_image(test::golden_image("one_pixel_1x1.png"));
  ASSERT_EQ(image.width * image.height, 1);
  EXPECT_EQ(test::pixel(image, 0, 0), (Rgb{10, 200, 90}));
}

TEST(LoadImage, jpeg_agrees_with_pillow) {
  for (const std::string name : {"photo", "progressive", "gray", "cmyk"}) {
    const Image image = load_image(test::golden_image(name + "_48x40.jpg"));
    const Image expected = load_image(test::golden_image(name + "_48x40_decoded.png"));
    EXPECT_LE(test::largest_difference(image, expected), 2) << name;
  }
}

// The stored picture is 24 x 16: red top left, green top right, blue bottom left, white elsewhere. Where each
// colour's corner is after turning, from the EXIF standard's table ("row 0 is the visual ..., column 0 the
// visual ...").
struct Turn {
  int orientation;
  const char *red, *green, *blue;
};

Rgb corner(const Image& image, const std::string& name) {
  const int64_t x = name[1] == 'l' ? 3 : image.width - 4;
  const int64_t y = name[0] == 't' ? 3 : image.height - 4;
  return test::pixel(image, x, y);
}

void expect_turned(const std::string& file, const Turn& turn, int tolerance) {
  SCOPED_TRACE(file);
  const Image image = load_image(test::golden_image(file));
  EXPECT_EQ(image.exif_orientation, turn.orientation);
  ASSERT_EQ(image.width, turn.orientation < 5 ? 24 : 16);
  ASSERT_EQ(image.height, turn.orientation < 5 ? 16 : 24);
  const auto near = [&](const char* where, const Rgb& wanted) {
    const Rgb got = corner(image, where);
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(got[c], wanted[c], tolerance) << where;
  };
  near(turn.red, {255, 0, 0});
  near(turn.green, {0, 255, 0});
  near(turn.blue, {0, 0, 255});
}

TEST(LoadImage, all_eight_exif_orientations) {
  const std::vector<Turn> turns = {
      {1, "tl", "tr", "bl"},  // as stored
      {2, "tr", "tl", "br"},  // mirrored left to right
      {3, "br", "bl", "tr"},  // turned half round
      {4, "bl", "br", "tl"},  // mirrored top to bottom
      {5, "tl", "bl", "tr"},  // mirrored about the main diagonal
      {6, "tr", "br", "tl"},  // a quarter clockwise
      {7, "br", "tr", "bl"},  // mirrored about the other diagonal
      {8, "bl", "tl", "br"},  // a quarter anticlockwise
  };
  for (const Turn& turn : turns) {
    expect_turned("turn" + std::to_string(turn.orientation) + "_24x16.jpg", turn, 8);
  }
  for (const char* extension : {"png", "webp", "tif"}) {
    expect_turned(std::string("turn6_24x16.") + extension, {6, "tr", "br", "tl"}, 0);
  }
}

TEST(LoadImage, sixteen_bit_tiff_is_turned_once) {
  const Image image = load_image(test::golden_image("turn8_gray16_24x16.tif"));
  ASSERT_EQ(image.width, 16);
  ASSERT_EQ(image.height, 24);
  // Orientation 8: the stored last column becomes the top row. Stored value 170 (24 y + x), the top left
  // pixel is x 23, y 0.
  EXPECT_EQ(test::pixel(image, 0, 0)[0], rounded(170.0 * 23 / 257));
  EXPECT_EQ(test::pixel(image, 1, 0)[0], rounded(170.0 * (24 + 23) / 257));
  EXPECT_EQ(test::pixel(image, 0, 23)[0], 0);
}

TEST(LoadImage, format_is_told_by_content_not_by_name) {
  const test::TemporaryFolder folder;
  test::write_bytes(folder.path() / "a.jpg", test::read_bytes(test::golden_image("rgb.png")));
  EXPECT_EQ(test::pixel(load_image(folder.path() / "a.jpg"), 3, 2), colour(3, 2));
}

TEST(SaveImage, png_comes_back_exactly_and_jpeg_nearly) {
  const test::TemporaryFolder folder;
  const Image image = load_image(test::golden_image("photo_48x40_decoded.png"));
  save_image(image, folder.path() / "new" / "a.png");
  EXPECT_EQ(test::largest_difference(load_image(folder.path() / "new" / "a.png"), image), 0);
  save_image(image, folder.path() / "a.jpg");
  EXPECT_LE(test::largest_difference(load_image(folder.path() / "a.jpg"), image), 60);
}

TEST(SaveImage, errors) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(save_image(test::filled(2, 2, {0, 0, 0}), folder.path() / "a.gif"), FileError);
  EXPECT_THROW(save_image(Image{}, folder.path() / "a.png"), FileError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace gaze::models
