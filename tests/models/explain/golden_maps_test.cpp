// EfficientNet-Lite0 with its published weights: maps of pytorch-grad-cam and captum.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/explain/activation_maps.h"
#include "models/explain/integrated_gradients.h"
#include "models/image/image.h"
#include "tests/models/backbone/golden_network.h"

namespace gaze::models {
namespace {

class GoldenMaps : public testing::Test {
 protected:
  void SetUp() override {
    network_ = test::published_lite0();
    if (!network_) GTEST_SKIP() << "no weights: run weights/fetch efficientnet_lite0";
    std::ifstream file(GAZE_SOURCE_DIR "/tests/golden/explain/explain.json");
    golden_ = nlohmann::json::parse(file);
  }

  static torch::Tensor input(const nlohmann::json& expected) {
    const Image image = load_image(std::filesystem::path(GAZE_SOURCE_DIR) / "tests" / "photos" /
                                   expected["file"].get<std::string>());
    const int64_t step = expected["step"];
    const int64_t rows = (image.height + step - 1) / step, cols = (image.width + step - 1) / step;
    return test::normalise(test::crop_of(image, (rows - 224) / 2, (cols - 224) / 2, 224, 224, step),
                           {127, 127, 127}, {128, 128, 128});
  }
  Scores score_of(const nlohmann::json& expected) {
    const int64_t k = expected["class"];
    return [this, k](const torch::Tensor& x) { return network_->forward(x).narrow(1, k, 1); };
  }

  std::shared_ptr<Backbone> network_;
  nlohmann::json golden_;
};

double pearson(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor both = torch::stack({a.flatten(), b.flatten()}).to(torch::kDouble);
  return torch::corrcoef(both)[0][1].item<double>();
}

TEST_F(GoldenMaps, class_activation_maps_are_pytorch_grad_cam_s) {
  double smallest = 1;
  for (const nlohmann::json& expected : golden_) {
    const torch::Tensor x = input(expected);
    for (const nlohmann::json& map : expected["maps"]) {
      const ActivationMaps found =
          activation_maps(score_of(expected), x, map["layer"], cam_named(map["method"]));
      EXPECT_NEAR(found.scores[0].item<double>(), expected["logit"].get<double>(), 1e-3);
      const torch::Tensor wanted = torch::tensor(map["values"].get<std::vector<float>>());
      ASSERT_EQ(found.maps[0].size(0), map["rows"].get<int64_t>());
      const double correlation = pearson(found.maps[0], wanted);
      EXPECT_GE(correlation, 0.999) << expected["file"] << " " << map["layer"] << " " << map["method"];
      smallest = std::min(smallest, correlation);
    }
  }
  std::cout << "smallest correlation " << smallest << "\n";
}

TEST_F(GoldenMaps, integrated_gradients_are_captum_s) {
  double furthest = 0;
  for (const nlohmann::json& expected : golden_) {
    const torch::Tensor x = input(expected);
    const IntegratedGradients found =
        integrated_gradients(score_of(expected), x, {}, {expected["steps"], 10});
    const torch::Tensor sums =
        found.attributions[0].to(torch::kDouble).sum(0).view({28, 8, 28, 8}).sum({1, 3});
    const torch::Tensor wanted =
        torch::tensor(expected["integrated_gradients"].get<std::vector<double>>(), torch::kDouble)
            .view({28, 28});
    furthest = std::max(furthest, ((sums - wanted).norm() / wanted.norm()).item<double>());
    const double change = (found.scores - found.baseline_scores)[0].item<double>();
    std::cout << expected["file"] << " " << expected["class"] << ": gap " << found.gap[0].item<double>()
              << " of " << change << "\n";
  }
  std::cout << "furthest sum " << furthest << " of their length\n";
  EXPECT_LE(furthest, 1e-3);
}

}  // namespace
}  // namespace gaze::models
