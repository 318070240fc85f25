// Every backbone against the original Python code, on the same weights and the same input tensor.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "models/image/image.h"
#include "tests/models/backbone/golden_network.h"

namespace gaze::models {
namespace {

constexpr double kMaxError = 1e-5;  // of the largest absolute logit

torch::Tensor input_of(const nlohmann::json& golden, const nlohmann::json& expected) {
  const Image picture = load_image(GAZE_SOURCE_DIR "/tests/golden/backbone/picture.png");
  const std::vector<int64_t> crop = expected.at("crop");
  return test::normalise(test::crop_of(picture, crop[0], crop[1], crop[2], crop[3]), golden.at("mean"),
                         golden.at("std"));
}

void compare_logits(const torch::Tensor& logits, const nlohmann::json& expected) {
  const double scale = expected.at("max_abs_logit");
  const torch::Tensor known = torch::tensor(expected.at("logits").get<std::vector<double>>(), torch::kDouble);
  const torch::Tensor got = logits.to(torch::kDouble);
  const double error = (got.slice(0, 0, known.size(0)) - known).abs().max().item<double>() / scale;
  fmt::print("{}: largest error {:.1e} of the largest logit\n", expected.at("crop").dump(), error);
  EXPECT_LE(error, kMaxError);
  EXPECT_NEAR(got.abs().max().item<double>(), scale, kMaxError * scale);
}

void compare_stages(const std::vector<StageFeature>& stages, const nlohmann::json& expected) {
  std::set<std::string> met;
  for (const StageFeature& stage : stages) {
    if (!expected.contains(stage.name)) continue;
    SCOPED_TRACE(stage.name);
    met.insert(stage.name);
    const nlohmann::json& known = expected.at(stage.name);
    EXPECT_EQ(stage.value.sizes().vec(), known.at("shape").get<std::vector<int64_t>>());
    EXPECT_NEAR(stage.value.to(torch::kDouble).mean().item<double>(), known.at("mean"), 1e-5);
    EXPECT_NEAR(stage.value.max().item<double>(), known.at("max"), 1e-4);
  }
  EXPECT_EQ(met.size(), 4U);
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, state_keys_and_shapes_are_the_originals) {
  std::map<std::string, std::string> state;
  const auto add = [&](const auto& items) {
    for (const auto& item : items)
      state[item.key()] = fmt::format("{}", fmt::join(item.value().sizes(), "x"));
  };
  const auto network = make_backbone(GetParam());
  add(network->named_parameters());
  add(network->named_buffers());
  EXPECT_EQ(state, (test::golden_file(GetParam()).at("state").get<std::map<std::string, std::string>>()));
}

INSTANTIATE_TEST_SUITE_P(Networks, Golden,
                         testing::Values("resnet18", "resnet34", "resnet50", "resnet101", "resnet152",
                                         "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d",
                                         "wide_resnet50_2", "wide_resnet101_2", "efficientnet_lite0"),
                         [](const auto& info) { return info.param; });

class GoldenOutput : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOutput, stages_and_logits_are_the_originals) {
  const torch::NoGradGuard no_grad;
  const nlohmann::json golden = test::golden_file(GetParam());
  const auto network = test::golden_network(golden, GetParam());
  for (const nlohmann::json& expected : golden.at("cases")) {
    const std::vector<StageFeature> stages = network->stages(input_of(golden, expected));
    compare_stages(stages, expected.at("stages"));
    compare_logits(network->classify(stages.back().value.mean({2, 3}))[0], expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, GoldenOutput,
                         testing::Values("resnet18", "resnet34", "resnet50", "resnet101", "resnet152",
                                         "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d",
                                         "wide_resnet50_2", "wide_resnet101_2", "resnet50_dilated",
                                         "resnext50_dilated", "resnet50_caffe", "efficientnet_lite0"),
                         [](const auto& info) { return info.param; });

class Evidence : public testing::TestWithParam<std::string> {};

TEST_P(Evidence, of_the_cells_averages_to_the_logits) {
  const torch::NoGradGuard no_grad;
  const nlohmann::json golden = test::golden_file(GetParam());
  const auto network = test::golden_network(golden, GetParam());
  const nlohmann::json& expected = golden.at("cases").at(1);
  const torch::Tensor x = input_of(golden, expected);
  const torch::Tensor evidence = network->class_evidence(x);
  EXPECT_EQ(evidence.sizes().vec(), (std::vector<int64_t>{1, 1000, 4, 5}));
  EXPECT_GT(evidence.std({2, 3}).mean().item<double>(), 0.1) << "the cells must not all say the same";
  compare_logits(evidence.mean({2, 3})[0], expected);
  compare_logits(network->forward(x)[0], expected);
}

INSTANTIATE_TEST_SUITE_P(Networks, Evidence, testing::Values("resnet18", "efficientnet_lite0"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gaze::models
