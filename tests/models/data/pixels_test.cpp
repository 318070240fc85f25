#include "models/data/pixels.h"

#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

Image filled(int64_t width, int64_t height, uint8_t value) {
  Image image;
  image.width = width;
  image.height = height;
  image.rgb.assign(static_cast<size_t>(3 * width * height), value);
  return image;
}

// A cut-out of one colour, left half red and right half blue.
Cutout two_halves(int64_t width, int64_t height) {
  Raster raster{width, height, {}};
  for (int64_t i = 0; i < width * height; ++i) {
    const bool left = i % width < width / 2;
    raster.rgba.insert(raster.rgba.end(),
                       {static_cast<uint8_t>(left ? 255 : 0), 0, static_cast<uint8_t>(left ? 0 : 255), 255});
  }
  return {{raster}, 1.0};
}

std::vector<int> pixel(const Raster& raster, int64_t x, int64_t y) {
  const uint8_t* at = raster.at(x, y);
  return {at[0], at[1], at[2], at[3]};
}

TEST(Cutout, IsCroppedToItsAlphaAndPremultiplied) {
  test::TemporaryFolder folder;
  cv::Mat picture(10, 12, CV_8UC4, cv::Scalar(9, 9, 9, 0));
  picture.at<cv::Vec4b>(3, 4) = {10, 20, 200, 255};  // BGRA
  picture.at<cv::Vec4b>(5, 8) = {10, 20, 200, 128};
  cv::imwrite((folder.path() / "a.png").string(), picture);
  const Cutout cutout = load_cutout(folder.path() / "a.png");
  ASSERT_EQ(cutout.width(), 5);
  ASSERT_EQ(cutout.height(), 3);
  EXPECT_EQ(pixel(cutout.levels[0], 0, 0), (std::vector<int>{200, 20, 10, 255}));
  EXPECT_EQ(pixel(cutout.levels[0], 4, 2), (std::vector<int>{100, 10, 5, 128}));
  EXPECT_EQ(pixel(cutout.levels[0], 2, 1), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(cutout.coverage, 2.0 / 15);
}

TEST(Cutout, SaysWhatIsWrong) {
  test::TemporaryFolder folder;
  EXPECT_THROW(load_cutout(folder.path() / "none.png"), FileError);
  cv::imwrite((folder.path() / "empty.png").string(), cv::Mat(4, 4, CV_8UC4, cv::Scalar(1, 2, 3, 0)));
  EXPECT_THROW(load_cutout(folder.path() / "empty.png"), FileError);
}

TEST(Place, PutsTheCutoutWhereThePoseSays) {
  Pose pose;
  pose.x = 7, pose.y = 5;
  const Raster layer = place(two_halves(4, 2), pose, {}, 12, 10);
  for (int64_t y = 0; y < 10; ++y) {
    for (int64_t x = 0; x < 12; ++x) {
      const bool inside = x >= 5 && x < 9 && y >= 4 && y < 6;
      EXPECT_EQ(pixel(layer, x, y)[3], inside ? 255 : 0) << x << ' ' << y;
    }
  }
  EXPECT_EQ(pixel(layer, 5, 4), (std::vector<int>{255, 0, 0, 255}));
  EXPECT_EQ(pixel(layer, 8, 5), (std::vector<int>{0, 0, 255, 255}));
}

TEST(Place, FlipsTurnsAndScales) {
  Pose pose;
  pose.x = 6, pose.y = 6;
  pose.flip = true;
  EXPECT_EQ(pixel(place(two_halves(4, 2), pose, {}, 12, 12), 4, 5), (std::vector<int>{0, 0, 255, 255}));
  pose.flip = false;
  set_turn(pose, 1);  // half the angle has tangent 1: a quarter turn, clockwise as y runs down
  const Raster turned = place(two_halves(4, 2), pose, {}, 12, 12);
  EXPECT_EQ(pixel(turned, 5, 4), (std::vector<int>{255, 0, 0, 255}));
  EXPECT_EQ(pixel(turned, 6, 7), (std::vector<int>{0, 0, 255, 255}));
  EXPECT_EQ(pixel(turned, 4, 6)[3], 0);
  EXPECT_EQ(turned_size(two_halves(4, 2), pose), (std::vector<double>{2, 4}));
  set_turn(pose, 0);
  pose.scale = 2;
  const Raster larger = place(two_halves(4, 2), pose, {}, 12, 12);
  EXPECT_EQ(pixel(larger, 3, 5), (std::vector<int>{255, 0, 0, 255}));
  EXPECT_GE(pixel(larger, 2, 4)[3], 100);  // an antialiased corner
}

TEST(Paint, BlendsByAlpha) {
  Image picture = filled(2, 1, 100);
  const Raster layer{2, 1, {0, 0, 0, 0, 50, 0, 128, 128}};
  paint(layer, picture);
  EXPECT_EQ(picture.rgb, (std::vector<uint8_t>{100, 100, 100, 100, 50, 178}));
}

TEST(Shadow, DarkensWhereItFalls) {
  Image picture = filled(5, 5, 200);
  Raster layer{5, 5, std::vector<uint8_t>(100, 0)};
  layer.at(1, 1)[3] = 255;
  cast_shadow(layer, 2, 1, 0, 0.5, picture);
  for (int64_t i = 0; i < 25; ++i)
    EXPECT_EQ(picture.rgb[static_cast<size_t>(3 * i)], i == 2 * 5 + 3 ? 100 : 200) << i;
}

TEST(Shrink, IsTheMeanOverAreas) {
  Image picture = filled(3, 2, 0);
  for (size_t i = 0; i < 6; ++i) picture.rgb[3 * i] = static_cast<uint8_t>(30 * i);  // 0 30 60 / 90 120 150
  const Image result = shrink(picture, 2, 1);
  // Left: columns 0 and half of 1: ((0 + 90) + (30 + 120) / 2) / 3 = 55; right: ((60 + 150) + 75) / 3 = 95.
  EXPECT_EQ(result.rgb[0], 55);
  EXPECT_EQ(result.rgb[3], 95);
}

TEST(Cut, TakesTheRectangleAndMirrors) {
  Image picture = filled(4, 1, 0);
  for (size_t i = 0; i < 4; ++i) picture.rgb[3 * i] = static_cast<uint8_t>(10 * i);
  EXPECT_EQ(cut(picture, 1, 0, 2, 1, false, 2, 1).rgb[0], 10);
  EXPECT_EQ(cut(picture, 1, 0, 2, 1, true, 2, 1).rgb[0], 20);
  EXPECT_EQ(cut(picture, 1, 0, 1, 1, false, 2, 1).rgb[0],
            8);  // a quarter of a pixel left of the centre of pixel 1: 7.5
}

TEST(Soften, IsTheBinomialFilter) {
  Image picture = filled(3, 3, 0);
  picture.rgb[3 * 4] = 160;
  soften(picture);
  EXPECT_EQ(picture.rgb[3 * 4], 40);
  EXPECT_EQ(picture.rgb[3 * 1], 20);
  EXPECT_EQ(picture.rgb[0], 10);
  EXPECT_EQ(picture.rgb[1], 0);
}

}  // namespace
}  // namespace gaze::models
