#include "models/image/geometry.h"

#include <gtest/gtest.h>

#include "models/image/preprocess.h"
#include "tests/models/image/pictures.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

TEST(Affine, after_and_inverse) {
  const Affine shift{1, 0, 10, 0, 1, 20};
  const Affine stretch{2, 0, 0, 0, 4, 0};
  const auto [x, y] = stretch.after(shift)(1, 2);  // shift first: (11, 22), then (22, 88)
  EXPECT_DOUBLE_EQ(x, 22);
  EXPECT_DOUBLE_EQ(y, 88);
  const Affine turned{0, -3, 5, 2, 0, 7};  // with both axes mixed
  const auto [u, v] = turned.inverse()(turned(4, 9)[0], turned(4, 9)[1]);
  EXPECT_DOUBLE_EQ(u, 4);
  EXPECT_DOUBLE_EQ(v, 9);
}

// Where the middle of cell (row, col) of a 7 x 7 map lies on a picture, worked out by hand.
struct Place {
  int64_t row, col;
  double x, y;
};

Preprocessing with(ResizeMode mode) {
  Preprocessing p;  // 224 x 224, crop from a short side of 256
  p.mode = mode;
  return p;
}

Geometry geometry_of(int64_t width, int64_t height, ResizeMode mode) {
  return preprocess(test::filled(width, height, {90, 90, 90}), with(mode)).geometry;
}

void expect_places(const Geometry& geometry, const std::vector<Place>& places) {
  const Affine to_image = geometry.cell_to_image(7, 7);
  for (const Place& place : places) {
    const auto [x, y] = to_image(static_cast<double>(place.col) + 0.5, static_cast<double>(place.row) + 0.5);
    EXPECT_NEAR(x, place.x, 1e-9) << "row " << place.row << " col " << place.col;
    EXPECT_NEAR(y, place.y, 1e-9) << "row " << place.row << " col " << place.col;
  }
}

TEST(Geometry, squash) {
  // 640 / 7 = 91.43 wide, 480 / 7 = 68.57 high.
  const Geometry geometry = geometry_of(640, 480, ResizeMode::squash);
  expect_places(geometry, {{0, 0, 320.0 / 7, 240.0 / 7}, {3, 3, 320, 240}, {6, 1, 960.0 / 7, 3120.0 / 7}});
  EXPECT_EQ(geometry.seen.width, 640);
  EXPECT_EQ(geometry.seen.height, 480);
}

TEST(Geometry, crop_of_a_landscape) {
  // 640 x 480 -> 341 x 256 (341.33 cut), crop from x round(58.5) = 58 (to even), y 16. A cell is 32 wide.
  // Cell (0, 0) has its middle at input 16, resized 74, 32 -> picture 74 * 640 / 341, 32 * 480 / 256 = 60.
  const Geometry geometry = geometry_of(640, 480, ResizeMode::crop);
  expect_places(
      geometry,
      {{0, 0, 74 * 640.0 / 341, 60}, {3, 3, 170 * 640.0 / 341, 240}, {6, 6, 266 * 640.0 / 341, 420}});
  EXPECT_NEAR(geometry.seen.x, 58 * 640.0 / 341, 1e-9);
  EXPECT_NEAR(geometry.seen.y, 30, 1e-9);
  EXPECT_NEAR(geometry.seen.width, 224 * 640.0 / 341, 1e-9);
  EXPECT_NEAR(geometry.seen.height, 420, 1e-9);
}

TEST(Geometry, crop_of_a_portrait) {
  const Geometry geometry = geometry_of(480, 640, ResizeMode::crop);
  expect_places(geometry, {{0, 0, 60, 74 * 640.0 / 341}, {6, 0, 60, 266 * 640.0 / 341}});
}

TEST(Geometry, letterbox) {
  // 640 x 480 -> 224 x 168, bars of 28 above and below; a cell of 32 input pixels is 91.43 picture pixels.
  const Geometry landscape = geometry_of(640, 480, ResizeMode::letterbox);
  expect_places(landscape, {{3, 3, 320, 240},
                            {1, 0, 320.0 / 7, (48 - 28) * 480.0 / 168},
                            {0, 0, 320.0 / 7, (16 - 28) * 480.0 / 168}});
  EXPECT_EQ(landscape.seen.width, 640);
  EXPECT_EQ(landscape.seen.height, 480);
  // 100 x 301 -> 74.4 = 74 x 224, bars of 75 left and right; the real scale is 100 / 74.
  const Geometry odd = geometry_of(100, 301, ResizeMode::letterbox);
  expect_places(odd, {{0, 3, (112 - 75) * 100.0 / 74, 21.5}});
}

TEST(Geometry, one_pixel_pictures_in_every_mode) {
  for (const ResizeMode mode : {ResizeMode::squash, ResizeMode::crop, ResizeMode::letterbox}) {
    const PreparedImage prepared = preprocess(test::filled(1, 1, {124, 116, 104}), with(mode));
    EXPECT_EQ(prepared.input.numel(), 3 * 224 * 224);
    const auto [x, y] = prepared.geometry.cell_to_image(7, 7)(3.5, 3.5);
    EXPECT_NEAR(x, 0.5, 1e-9);
    EXPECT_NEAR(y, 0.5, 1e-9);
  }
}

// Full circle: a spot painted at the place worked out by hand lights up that cell of the model's input, and
// no other.
struct Circle {
  const char* name;
  int64_t width, height;
  ResizeMode mode;
  int64_t row, col;
  double x, y;  // middle of the cell on the upright picture
};

class FullCircle : public ::testing::TestWithParam<Circle> {};

// Brightness-weighted middle of the input, in cells of a 7 x 7 map.
std::array<double, 2> brightest_cell(const at::Tensor& input) {
  double sum = 0, sum_x = 0, sum_y = 0;
  const float dark = (0.0F - 0.485F) / 0.229F;
  for (int64_t y = 0; y < 224; ++y) {
    for (int64_t x = 0; x < 224; ++x) {
      const float value = input.data_ptr<float>()[y * 224 + x];
      if (value == 0.0F) continue;  // letterbox bars
      const double light = std::max(0.0F, value - dark);
      sum += light;
      sum_x += light * (static_cast<double>(x) + 0.5);
      sum_y += light * (static_cast<double>(y) + 0.5);
    }
  }
  return {sum_x / sum / 32, sum_y / sum / 32};
}

TEST_P(FullCircle, spot_lands_on_its_cell) {
  const Circle& c = GetParam();
  Image image = test::filled(c.width, c.height, {0, 0, 0});
  const auto x = static_cast<int64_t>(c.x), y = static_cast<int64_t>(c.y);
  test::paint(image, x - 4, y - 4, x + 5, y + 5, {255, 255, 255});
  const PreparedImage prepared = preprocess(image, with(c.mode));
  const auto [col, row] = brightest_cell(prepared.input);
  const auto [back_x, back_y] = prepared.geometry.cell_to_image(7, 7)(col, row);
  EXPECT_NEAR(back_x, c.x, 1.0);
  EXPECT_NEAR(back_y, c.y, 1.0);
  EXPECT_NEAR(col, static_cast<double>(c.col) + 0.5, 0.05);
  EXPECT_NEAR(row, static_cast<double>(c.row) + 0.5, 0.05);
}

INSTANTIATE_TEST_SUITE_P(
    Pictures, FullCircle,
    ::testing::Values(Circle{"plain", 640, 480, ResizeMode::squash, 1, 5, 502.9, 102.9},
                      Circle{"portrait", 480, 640, ResizeMode::squash, 6, 0, 34.3, 594.3},
                      Circle{"cropped", 640, 480, ResizeMode::crop, 6, 0, 138.9, 420},
                      Circle{"cropped_portrait", 480, 640, ResizeMode::crop, 0, 6, 420, 138.9},
                      Circle{"letterboxed", 640, 480, ResizeMode::letterbox, 1, 6, 594.3, 57.1},
                      Circle{"letterboxed_portrait", 300, 900, ResizeMode::letterbox, 5, 3, 150, 707.1}),
    [](const auto& info) { return info.param.name; });

// A phone held upright: 640 x 480 stored with orientation 6 is 480 x 640. The spot is painted on the stored
// picture.
TEST(Geometry, exif_turned_picture) {
  const test::TemporaryFolder folder;
  Image stored = test::filled(640, 480, {0, 0, 0});
  // Upright cell (1, 5) of the squashed picture has its middle at x 5.5 * 480 / 7 = 377.1, y 1.5 * 640 / 7 =
  // 137.1. Turning a quarter clockwise takes stored (u, v) to upright (480 - v, u), so it was stored at u
  // 137.1, v 102.9.
  test::paint(stored, 137 - 4, 102 - 4, 137 + 5, 102 + 5, {255, 255, 255});
  save_image(stored, folder.path() / "stored.jpg");
  std::string bytes = test::read_bytes(folder.path() / "stored.jpg");
  const std::string exif(
      "\xff\xe1\0\x22"
      "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0",
      36);
  test::write_bytes(folder.path() / "turned.jpg", bytes.substr(0, 2) + exif + bytes.substr(2));

  const Image image = load_image(folder.path() / "turned.jpg");
  ASSERT_EQ(image.width, 480);
  ASSERT_EQ(image.height, 640);
  ASSERT_EQ(image.exif_orientation, 6);
  const PreparedImage prepared = preprocess(image, with(ResizeMode::squash));
  const auto [col, row] = brightest_cell(prepared.input);
  EXPECT_NEAR(col, 5.5, 0.05);
  EXPECT_NEAR(row, 1.5, 0.05);
  const auto [x, y] = prepared.geometry.cell_to_image(7, 7)(5.5, 1.5);
  EXPECT_NEAR(x, 377.1, 0.1);
  EXPECT_NEAR(y, 137.1, 0.1);
}

}  // namespace
}  // namespace gaze::models
