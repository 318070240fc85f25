// Networks of other ecosystems: their names, mapped, give the logits their own code computed.
#include <gtest/gtest.h>

#include "models/backbone/load_backbone.h"
#include "models/checkpoint/key_map.h"
#include "models/image/image.h"
#include "tests/models/backbone/golden_network.h"
#include "tests/models/checkpoint/golden_networks.h"

namespace gaze::models {
namespace {

constexpr double kMaxError = 1e-5;  // of the largest absolute logit

torch::Tensor input_of(const nlohmann::json& golden, const nlohmann::json& expected) {
  const Image picture = load_image(GAZE_SOURCE_DIR "/tests/golden/backbone/picture.png");
  const std::vector<int64_t> crop = expected.at("crop");
  return test::normalise(test::crop_of(picture, crop[0], crop[1], crop[2], crop[3]), golden.at("mean"),
                         golden.at("std"));
}

class ForeignNetwork : public testing::TestWithParam<std::string> {};

TEST_P(ForeignNetwork, ComputesTheOriginalsLogits) {
  const torch::NoGradGuard no_grad;
  const nlohmann::json golden = test::golden_network_file(GetParam());
  const auto network = load_backbone(model_of(map_keys(test::golden_state(golden))));
  int64_t parameters = 0;
  for (const torch::Tensor& parameter : network->parameters()) parameters += parameter.numel();
  EXPECT_EQ(parameters, golden.at("parameters").get<int64_t>());
  ASSERT_FALSE(golden.at("cases").empty());
  for (const nlohmann::json& expected : golden.at("cases")) {
    const double scale = expected.at("max_abs_logit");
    const torch::Tensor known =
        torch::tensor(expected.at("logits").get<std::vector<double>>(), torch::kDouble);
    const torch::Tensor got = network->forward(input_of(golden, expected))[0].to(torch::kDouble);
    const double error = (got.slice(0, 0, known.size(0)) - known).abs().max().item<double>() / scale;
    fmt::print("{} {}: largest error {:.1e} of the largest logit\n", GetParam(), expected.at("crop").dump(),
               error);
    EXPECT_LE(error, kMaxError);
    EXPECT_NEAR(got.abs().max().item<double>(), scale, kMaxError * scale);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ForeignNetwork, testing::ValuesIn(test::golden_networks()),
                         [](const auto& info) { return info.param; });

TEST(ForeignNetworks, HaveThePublishedNumbersOfParameters) {
  const auto parameters = [](const char* name) {
    return test::golden_network_file(name).at("parameters").get<int64_t>();
  };
  EXPECT_EQ(parameters("timm_se_resnet50"), 28088024);
  EXPECT_EQ(parameters("timm_cbam_resnet50"), 28073576);
  EXPECT_EQ(parameters("authors_cbam_resnet50"), 28089624);
  EXPECT_EQ(parameters("timm_se_resnet18"), 11779624);
  EXPECT_EQ(parameters("authors_cbam_resnet18"), 11779392);
  EXPECT_EQ(parameters("timm_eca_resnet50"), 25557032 + 86);
}

}  // namespace
}  // namespace gaze::models
