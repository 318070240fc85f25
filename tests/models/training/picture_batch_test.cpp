#include "models/training/picture_batch.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/models/image/pictures.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

// Red tells the column, green the row.
Image ramp(int64_t width, int64_t height) {
  Image image;
  image.width = width;
  image.height = height;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      image.rgb.push_back(static_cast<uint8_t>(x));
      image.rgb.push_back(static_cast<uint8_t>(y));
      image.rgb.push_back(0);
    }
  }
  return image;
}

TEST(RandomCrop, is_an_upright_part_of_the_picture) {
  const Image image = ramp(60, 40);
  int64_t mirrored = 0;
  bool narrow = false, wide = false, small = false;
  for (uint64_t i = 0; i < 300; ++i) {
    Random random({i});
    const Image crop = random_crop(image, 0.25, 0.5, random);
    ASSERT_EQ(static_cast<int64_t>(crop.rgb.size()), 3 * crop.width * crop.height);
    const test::Rgb first = test::pixel(crop, 0, 0),
                    last = test::pixel(crop, crop.width - 1, crop.height - 1);
    const bool mirror = last[0] < first[0];
    mirrored += mirror ? 1 : 0;
    EXPECT_EQ(std::abs(last[0] - first[0]), crop.width - 1);
    EXPECT_EQ(last[1] - first[1], crop.height - 1);
    const double share = static_cast<double>(crop.width * crop.height) / (60 * 40);
    const double ratio = static_cast<double>(crop.width) / static_cast<double>(crop.height);
    EXPECT_GT(share, 0.22);
    EXPECT_LE(share, 1);
    EXPECT_GT(ratio, 0.70);
    EXPECT_LT(ratio, 1.41);
    narrow = narrow || ratio < 0.85;
    wide = wide || ratio > 1.2;
    small = small || share < 0.35;
  }
  EXPECT_GT(mirrored, 110);
  EXPECT_LT(mirrored, 190);
  EXPECT_TRUE(narrow && wide && small);
}

TEST(RandomCrop, of_a_long_picture_falls_back_to_its_centre) {
  Random random({1});
  const Image crop = random_crop(ramp(200, 10), 1, 0, random);  // no box of all its area has sides near 1
  EXPECT_EQ(crop.width, 13);
  EXPECT_EQ(crop.height, 10);
  EXPECT_EQ(test::pixel(crop, 0, 0)[0], 93);
  Random again({1});
  const Image dot = random_crop(ramp(1, 1), 0.35, 0.5, again);
  EXPECT_EQ(dot.width * dot.height, 1);
}

TEST(PictureStore, gives_the_same_picture_kept_or_read_again) {
  const test::TemporaryFolder folder;
  save_image(ramp(120, 90), folder.path() / "large.png");
  save_image(ramp(20, 30), folder.path() / "small.png");
  const std::vector<LabelledPicture> pictures = {{folder.path() / "large.png", 1},
                                                 {folder.path() / "small.png", 0}};
  PictureStore keeping(pictures, 45), reading(pictures, 45, 0);
  for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(keeping.get(i).rgb, reading.get(i).rgb);
  EXPECT_EQ(keeping.get(0).width, 60);  // its short side became 45
  EXPECT_EQ(keeping.get(0).height, 45);
  EXPECT_EQ(keeping.get(1).width, 20);  // never made larger
  EXPECT_EQ(keeping.picture(0).label, 1);
  ImageOptions small;
  small.max_pixels = 1000;
  EXPECT_ANY_THROW(PictureStore(pictures, 45, 0, small).get(0));  // 120 x 90
  std::filesystem::remove(folder.path() / "large.png");
  EXPECT_EQ(keeping.get(0).width, 60);
  EXPECT_ANY_THROW(reading.get(0));
}

TEST(CroppedInputs, depend_on_the_key_and_the_place_in_the_batch) {
  const test::TemporaryFolder folder;
  save_image(ramp(60, 40), folder.path() / "a.png");
  PictureStore store({{folder.path() / "a.png", 0}}, 100);
  Preprocessing preprocessing;
  preprocessing.height = preprocessing.width = 32;
  const torch::Tensor one = cropped_inputs(store, {0, 0, 0}, {}, preprocessing, 9);
  EXPECT_EQ(one.sizes(), (std::vector<int64_t>{3, 3, 32, 32}));
  EXPECT_TRUE(torch::equal(one, cropped_inputs(store, {0, 0, 0}, {}, preprocessing, 9)));
  EXPECT_FALSE(torch::equal(one, cropped_inputs(store, {0, 0, 0}, {}, preprocessing, 10)));
  EXPECT_FALSE(torch::equal(one[0], one[1]));
  // All of the picture, not mirrored: what squashing makes of it.
  const torch::Tensor whole = cropped_inputs(store, {0}, {1, 0}, preprocessing, 1)[0];
  const Image picture = load_image(folder.path() / "a.png");
  Preprocessing squash = preprocessing;
  squash.mode = ResizeMode::squash;
  EXPECT_EQ(whole.sizes(), preprocess(picture, squash).input.sizes());
}

TEST(Beta, has_the_mean_and_variance_of_its_distribution) {
  for (const double alpha : {0.05, 0.2, 1.0}) {
    Random random({3, static_cast<uint64_t>(100 * alpha)});
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw_beta(alpha, random);
      ASSERT_TRUE(x >= 0 && x <= 1) << x;
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    EXPECT_NEAR(mean, 0.5, 0.015) << alpha;
    EXPECT_NEAR(variance, 1 / (4 * (2 * alpha + 1)), 0.005) << alpha;
  }
}

TEST(Mixup, weighs_inputs_and_targets_alike) {
  const torch::Tensor inputs = torch::tensor({1.0F, 2.0F, 5.0F}).view({3, 1, 1, 1}).expand({3, 3, 1, 1});
  const MixedBatch batch = mixed(inputs, {0, 2, 1}, 4, 0.75);
  EXPECT_TRUE(torch::allclose(batch.inputs.select(1, 0).flatten(), torch::tensor({2.0F, 2.0F, 4.0F})));
  EXPECT_TRUE(torch::allclose(
      batch.targets,
      torch::tensor({{0.75F, 0.25F, 0.0F, 0.0F}, {0.0F, 0.0F, 1.0F, 0.0F}, {0.25F, 0.75F, 0.0F, 0.0F}})));
  const MixedBatch plain = mixed(inputs, {0, 2, 1}, 4, 1);
  EXPECT_TRUE(torch::equal(plain.inputs, inputs));
  EXPECT_TRUE(torch::equal(plain.targets.argmax(1), torch::tensor({0, 2, 1})));
}

}  // namespace
}  // namespace gaze::models
