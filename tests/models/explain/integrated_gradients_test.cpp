#include "models/explain/integrated_gradients.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/error.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

// sum w x^3 and sum x: integrated by hand, w x^3 - w x0^3 along a way through 0, and x - x0.
TEST(IntegratedGradients, of_a_polynomial_are_exact) {
  torch::manual_seed(1);
  const torch::Tensor w = torch::randn({3, 2, 5}), x = torch::randn({1, 3, 2, 5});
  const auto scores = [&](const torch::Tensor& p) {
    return torch::stack({(w * p.pow(3)).sum({1, 2, 3}), p.sum({1, 2, 3})}, 1);
  };
  for (const int64_t batch : {1, 2, 8}) {
    const IntegratedGradients found = integrated_gradients(scores, x, {}, {/*steps=*/2, batch});
    test::expect_near(found.attributions[0], w * x[0].pow(3), 1e-5, "cubic");
    test::expect_near(found.attributions[1], x[0], 1e-5, "linear");
    EXPECT_LT(found.gap.max().item<double>(), 1e-4);
  }
}

// Three nodes integrate fifth powers' gradients, of degree 4; two do not: t^4 has 1/5, their rule 7/36.
TEST(IntegratedGradients, use_the_gauss_legendre_rule) {
  const torch::Tensor x = torch::full({1, 3, 1, 1}, 2.0);
  const auto scores = [](const torch::Tensor& p) { return p.pow(5).sum({1, 2, 3}).unsqueeze(1); };
  EXPECT_NEAR(integrated_gradients(scores, x, {}, {3, 8}).attributions.sum().item<double>(), 96, 1e-3);
  const IntegratedGradients two = integrated_gradients(scores, x, {}, {2, 8});
  EXPECT_NEAR(two.attributions.sum().item<double>(), 96 * 5 * 7.0 / 36, 1e-3);
  EXPECT_NEAR(two.gap[0].item<double>(), 96 - 96 * 5 * 7.0 / 36, 1e-3);
}

TEST(IntegratedGradients, start_at_the_baseline) {
  const torch::Tensor x = torch::full({1, 3, 1, 2}, 3.0), from = torch::full({1, 3, 1, 2}, 1.0);
  const auto scores = [](const torch::Tensor& p) { return p.square().sum({1, 2, 3}).unsqueeze(1); };
  const IntegratedGradients found = integrated_gradients(scores, x, from);
  test::expect_near(found.attributions, torch::full({1, 3, 1, 2}, 8.0), 1e-5, "9 - 1");
  EXPECT_NEAR(found.baseline_scores[0].item<double>(), 6, 1e-6);
  EXPECT_THROWS_WITH(integrated_gradients(scores, x, torch::zeros({1, 3, 2, 2})), ArgumentError,
                     "[integrated_gradients] expected a baseline [1, 3, 1, 2]; got [1, 3, 2, 2]");
  EXPECT_THROWS_WITH(integrated_gradients(scores, x, {}, {0, 8}), ArgumentError,
                     "[integrated_gradients] expected steps and batch of at least 1; got 0 and 8");
}

}  // namespace
}  // namespace gaze::models
