#include "models/explain/class_activation.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/error.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

// Two channels of 1 x 2 cells.
const torch::Tensor kActivation = torch::tensor({1.0F, 2.0F, 3.0F, -1.0F}).view({2, 1, 2});
const torch::Tensor kGradient = torch::tensor({0.5F, -0.1F, -1.0F, 2.0F}).view({2, 1, 2});

void expect_map(Cam cam, double left, double right) {
  const torch::Tensor map = class_activation_map(cam, kActivation, kGradient);
  EXPECT_NEAR(map[0][0].item<double>(), left, 1e-5);
  EXPECT_NEAR(map[0][1].item<double>(), right, 1e-5);
}

TEST(ClassActivationMap, gradcam_weighs_channels_by_their_mean_gradient) {
  // weights (0.5 - 0.1) / 2 = 0.2 and (-1 + 2) / 2 = 0.5
  expect_map(Cam::gradcam, 0.2 * 1 + 0.5 * 3, 0.2 * 2 + 0.5 * -1);
}

TEST(ClassActivationMap, hirescam_weighs_cells) {
  expect_map(Cam::hirescam, 0.5 * 1 + -1.0 * 3, -0.1 * 2 + 2.0 * -1);
}

TEST(ClassActivationMap, plus_plus_counts_cells_that_raise_the_score) {
  // channel 0, sum A = 3: a = .25 / (.5 + 3 * .125) at g = .5; g = -.1 does not count.
  // channel 1, sum A = 2: a = 4 / (8 + 2 * 8) at g = 2.
  const double w0 = 0.5 * 0.25 / (0.5 + 3 * 0.125), w1 = 2.0 * 4 / (8 + 2 * 8);
  expect_map(Cam::gradcam_plus_plus, w0 * 1 + w1 * 3, w0 * 2 + w1 * -1);
}

TEST(ClassActivationMap, plus_plus_holds_small_gradients_down) {
  // one cell, A = 1, g = 1e-3: a = 1e-6 / (2e-6 + 1e-9 + 1e-6)
  const torch::Tensor map =
      class_activation_map(Cam::gradcam_plus_plus, torch::ones({1, 1, 1}), torch::full({1, 1, 1}, 1e-3));
  EXPECT_NEAR(map[0][0].item<double>(), 1e-3 / 3.001, 1e-7);
}

TEST(ClassActivationMap, cells_without_a_gradient_have_no_share) {
  const torch::Tensor none = torch::zeros({2, 3, 3});
  EXPECT_TRUE(
      class_activation_map(Cam::gradcam_plus_plus, torch::ones({2, 3, 3}), none).equal(torch::zeros({3, 3})));
}

TEST(ClassActivationMap, names_and_shapes_are_checked) {
  for (const std::string& name : cam_names())
    EXPECT_EQ(cam_names()[static_cast<size_t>(cam_named(name))], name);
  EXPECT_THROWS_WITH(cam_named("gradcamm"), ArgumentError,
                     "[explain] unknown method \"gradcamm\"; did you mean \"gradcam\"? known: gradcam, "
                     "gradcam++, hirescam");
  EXPECT_THROWS_WITH(class_activation_map(Cam::gradcam, torch::zeros({2, 3, 3}), torch::zeros({2, 3})),
                     ArgumentError,
                     "[class_activation_map] expected activation and gradient [..., C, H, W]; got [2, 3, 3] "
                     "and [2, 3]");
}

}  // namespace
}  // namespace gaze::models
