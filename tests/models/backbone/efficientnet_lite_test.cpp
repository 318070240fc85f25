// EfficientNet-Lite0 with its published weights against the original Python package, on photographs.
#include "models/backbone/efficientnet_lite.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "models/image/image.h"
#include "tests/models/backbone/golden_network.h"
#include "tests/support/golden_weights.h"

namespace gaze::models {
namespace {

constexpr double kMaxError = 1e-3;  // of a probability

class Lite0Photographs : public testing::Test {
 protected:
  void SetUp() override {
    network_ = test::published_lite0();
    if (!network_) GTEST_SKIP() << "no weights: run weights/fetch efficientnet_lite0";
  }

  // Compares the five best classes of each picture of `folder` ("" is the source tree).
  void compare(bool committed) {
    const torch::NoGradGuard no_grad;
    int64_t compared = 0;
    double largest = 0;
    const nlohmann::json golden = test::golden_file("efficientnet_lite0_photographs");
    for (const nlohmann::json& expected : golden.at("pictures")) {
      std::filesystem::path path = expected.at("file").get<std::string>();
      if (path.is_relative() != committed) continue;
      if (committed) path = GAZE_SOURCE_DIR / path;
      if (!committed && !std::filesystem::exists(path)) continue;
      SCOPED_TRACE(path);
      const Image image = load_image(path);
      const int64_t step = expected.at("step");
      const int64_t rows = (image.height + step - 1) / step, cols = (image.width + step - 1) / step;
      const torch::Tensor rgb = test::crop_of(image, (rows - 224) / 2, (cols - 224) / 2, 224, 224, step);
      ASSERT_EQ(fmt::format("{:016x}", test::fnv1a(rgb.data_ptr(), rgb.nbytes())), expected.at("pixels"))
          << "the picture was decoded differently";
      const torch::Tensor logits =
          network_->forward(test::normalise(rgb, {127, 127, 127}, {128, 128, 128}))[0];
      const auto [values, classes] = torch::softmax(logits.to(torch::kDouble), 0).topk(5);
      for (int64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(classes[i].item<int64_t>(), expected.at("classes").at(i).get<int64_t>());
        const double error =
            std::abs(values[i].item<double>() - expected.at("probabilities").at(i).get<double>());
        EXPECT_LE(error, kMaxError);
        largest = std::max(largest, error);
      }
      ++compared;
    }
    if (compared == 0) GTEST_SKIP() << "no pictures: install opencv-doc";
    fmt::print("{} photographs: largest difference of a probability {:.1e}\n", compared, largest);
  }

  std::shared_ptr<Backbone> network_;
};

TEST_F(Lite0Photographs, committed_ones_get_the_originals_top_5) {
  compare(true);
}

TEST_F(Lite0Photographs, those_of_opencv_doc_get_the_originals_top_5) {
  compare(false);
}

TEST(EfficientNetLite, stages_are_the_last_features_of_each_stride) {
  const torch::NoGradGuard no_grad;
  const auto network = make_backbone("efficientnet_lite0", 3);
  network->eval();
  std::vector<std::string> got;
  for (const StageFeature& stage : network->stages(torch::zeros({2, 3, 33, 64}))) {
    got.push_back(fmt::format("{} {}", stage.name, fmt::join(stage.value.sizes(), "x")));
  }
  EXPECT_EQ(got, (std::vector<std::string>{"stage1 2x16x17x32", "stage2 2x24x9x16", "stage3 2x40x5x8",
                                           "stage4 2x112x3x4", "stage5 2x1280x2x2"}));
  EXPECT_EQ(network->stride(), 32);
  EXPECT_EQ(network->channels(), 1280);
}

TEST(EfficientNetLite, dropout_acts_before_the_head_in_training_only) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  const auto network = make_backbone("efficientnet_lite0", 3);
  const torch::Tensor x = torch::rand({2, 3, 64, 64});
  network->eval();
  EXPECT_TRUE(torch::equal(network->forward(x), network->forward(x)));
  network->train();
  for (const auto& module : network->modules(/*include_self=*/false)) {
    if (module->as<torch::nn::BatchNorm2d>() != nullptr) module->eval();  // only dropout is left to differ
  }
  EXPECT_FALSE(torch::equal(network->forward(x), network->forward(x)));
}

}  // namespace
}  // namespace gaze::models
