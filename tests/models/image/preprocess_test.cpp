#include "models/image/preprocess.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

float value(const at::Tensor& input, int64_t c, int64_t y, int64_t x) {
  return input.data_ptr<float>()[(c * input.size(1) + y) * input.size(2) + x];
}

TEST(Preprocess, crop_agrees_with_torchvision) {
  struct Case {
    int64_t width, height, resize, size;
  };
  for (const Case& c : {Case{40, 31, 28, 24}, {31, 40, 28, 24}, {33, 33, 27, 24}, {97, 20, 25, 25}}) {
    const std::string name = "crop_" + std::to_string(c.width) + "x" + std::to_string(c.height);
    Preprocessing p = resnet_preprocessing();
    p.height = p.width = c.size;
    p.resize = c.resize;
    const at::Tensor input = preprocess(load_image(test::golden_image(name + ".png")), p).input;
    const std::string bytes = test::read_bytes(test::golden_image(name + ".f32"));
    ASSERT_EQ(bytes.size(), static_cast<size_t>(input.numel()) * sizeof(float));
    std::vector<float> expected(static_cast<size_t>(input.numel()));
    std::memcpy(expected.data(), bytes.data(), bytes.size());
    // One grey level is 1 / 255 / 0.224 = 0.0175; nothing but float rounding may differ.
    float largest = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      largest = std::max(largest, std::abs(input.data_ptr<float>()[i] - expected[i]));
    EXPECT_LE(largest, 1e-6F) << name;
  }
}

TEST(Preprocess, squash_normalises) {
  Preprocessing p;
  p.mode = ResizeMode::squash;
  p.height = 2;
  p.width = 3;
  p.mean = {0.5F, 0, 0.25F};
  p.std = {0.5F, 1, 0.25F};
  const PreparedImage prepared = preprocess(test::filled(9, 4, {255, 51, 0}), p);
  ASSERT_EQ(prepared.input.dim(), 3);
  EXPECT_EQ(prepared.input.size(0), 3);
  EXPECT_EQ(prepared.input.size(1), 2);
  EXPECT_EQ(prepared.input.size(2), 3);
  EXPECT_FLOAT_EQ(value(prepared.input, 0, 1, 2), 1.0F);   // (1 - 0.5) / 0.5
  EXPECT_FLOAT_EQ(value(prepared.input, 1, 1, 2), 0.2F);   // 51 / 255
  EXPECT_FLOAT_EQ(value(prepared.input, 2, 1, 2), -1.0F);  // (0 - 0.25) / 0.25
}

TEST(Preprocess, efficientnet_lite_is_minus_127_over_128) {
  const PreparedImage prepared =
      preprocess(test::filled(300, 300, {127, 255, 0}), efficientnet_lite_preprocessing());
  EXPECT_NEAR(value(prepared.input, 0, 5, 5), 0.0, 1e-6);
  EXPECT_NEAR(value(prepared.input, 1, 5, 5), 1.0, 1e-6);
  EXPECT_NEAR(value(prepared.input, 2, 5, 5), -127.0 / 128, 1e-6);
}

TEST(Preprocess, letterbox_pads_with_the_mean_colour) {
  Preprocessing p;
  p.mode = ResizeMode::letterbox;
  p.height = p.width = 10;
  // 20 x 9 -> 10 x 4.5 = 5 rows (halves up); 5 rows are left: 2 above, 3 below.
  const at::Tensor input = preprocess(test::filled(20, 9, {255, 255, 255}), p).input;
  const float white = (1 - 0.485F) / 0.229F;
  for (int64_t y = 0; y < 10; ++y)
    EXPECT_FLOAT_EQ(value(input, 0, y, 4), y >= 2 && y < 7 ? white : 0.0F) << y;
}

// Sides as numpy has them: (shape * (299 / max(shape))).astype(int); 275 * (299 / 275) is below 299 in double.
TEST(Preprocess, fit_keeps_the_shape_and_cuts_to_whole_pixels) {
  struct Case {
    int64_t width, height, input_width, input_height;
  };
  Preprocessing p;
  p.mode = ResizeMode::fit;
  p.height = p.width = 299;
  for (const Case& c : {Case{640, 480, 299, 224},
                        {480, 640, 224, 299},
                        {97, 20, 299, 61},
                        {275, 100, 298, 108},
                        {1, 1, 299, 299},
                        {3000, 2, 299, 1}}) {
    const PreparedImage prepared = preprocess(test::filled(c.width, c.height, {255, 51, 0}), p);
    EXPECT_EQ(prepared.input.size(1), c.input_height) << c.width;
    EXPECT_EQ(prepared.input.size(2), c.input_width) << c.width;
    EXPECT_EQ(prepared.geometry.input_width, c.input_width);
    // All of the picture is seen: the input's far corner is the picture's.
    const auto corner = prepared.geometry.input_to_image(static_cast<double>(c.input_width),
                                                         static_cast<double>(c.input_height));
    EXPECT_NEAR(corner[0], static_cast<double>(c.width), 1e-9);
    EXPECT_NEAR(corner[1], static_cast<double>(c.height), 1e-9);
    EXPECT_NEAR(prepared.geometry.seen.width, static_cast<double>(c.width), 1e-9);
  }
  EXPECT_EQ(preprocessing_from_json(to_json(p)).mode, ResizeMode::fit);
}

TEST(Preprocess, extreme_shapes_need_no_memory) {
  Image strip = test::filled(1, 200'000, {7, 7, 7});
  EXPECT_EQ(preprocess(strip, resnet_preprocessing()).input.numel(), 3 * 224 * 224);
}

TEST(PreprocessingJson, comes_back) {
  Preprocessing p = efficientnet_lite_preprocessing(192);
  const nlohmann::json json = to_json(p);
  EXPECT_EQ(json.at("size"), nlohmann::json({192, 192}));
  EXPECT_EQ(json.at("mode"), "crop");
  EXPECT_EQ(json.at("resize"), 224);
  EXPECT_EQ(json.at("filter"), "bicubic");
  EXPECT_EQ(to_json(preprocessing_from_json(json)), json);
  p.mode = ResizeMode::letterbox;
  EXPECT_FALSE(to_json(p).contains("resize"));
  EXPECT_EQ(to_json(preprocessing_from_json(to_json(p))), to_json(p));
}

TEST(PreprocessingJson, errors_name_the_key) {
  const nlohmann::json good = to_json(resnet_preprocessing());
  const auto with = [&](const std::string& key, const nlohmann::json& value) {
    nlohmann::json json = good;
    json[key] = value;
    return json;
  };
  const auto without = [&](const std::string& key) {
    nlohmann::json json = good;
    json.erase(key);
    return json;
  };
  EXPECT_THROWS_WITH(
      preprocessing_from_json(with("mode", "crob")), ArgumentError,
      "[preprocessing] unknown mode \"crob\"; did you mean \"crop\"? known: squash, crop, letterbox, fit");
  EXPECT_THROWS_WITH(preprocessing_from_json(with("size", {224})), ArgumentError,
                     "[preprocessing] expected \"size\" to be [height, width]; got [224]");
  EXPECT_THROWS_WITH(preprocessing_from_json(with("size", {224, 0})), ArgumentError,
                     "[preprocessing] expected \"size\" to be a whole number from 1 to 16384; got 0");
  EXPECT_THROWS_WITH(preprocessing_from_json(with("resize", 200)), ArgumentError,
                     "[preprocessing] expected \"resize\" to be at least the size that is cropped from it; "
                     "got 200 for 224 x 224");
  EXPECT_THROWS_WITH(preprocessing_from_json(with("mean", "no")), ArgumentError,
                     "[preprocessing] expected \"mean\" to be three numbers; got \"no\"");
  EXPECT_THROW(preprocessing_from_json(with("std", {1, 0, 1})), ArgumentError);
  EXPECT_THROW(preprocessing_from_json(with("filter", 3)), ArgumentError);
  EXPECT_THROW(preprocessing_from_json(with("sice", 3)), ArgumentError);
  EXPECT_THROW(preprocessing_from_json(nlohmann::json::array()), ArgumentError);
  for (const char* key : {"size", "mode", "resize", "filter", "mean", "std"}) {
    EXPECT_THROW(preprocessing_from_json(without(key)), ArgumentError) << key;
  }
}

}  // namespace
}  // namespace gaze::models
