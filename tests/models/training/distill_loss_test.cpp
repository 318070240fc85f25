#include "models/training/distill_loss.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

std::vector<double> softmax(const std::vector<double>& logits, double T) {
  std::vector<double> p;
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit / T);
  for (const double logit : logits) p.push_back(std::exp(logit / T) / sum);
  return p;
}

double divergence(const std::vector<double>& teacher, const std::vector<double>& student, double T) {
  const std::vector<double> p = softmax(teacher, T), q = softmax(student, T);
  double sum = 0;
  for (size_t k = 0; k < p.size(); ++k) sum += p[k] * std::log(p[k] / q[k]);
  return sum;
}

// The formula of the header, loop by loop.
double expected(const torch::Tensor& student, const torch::Tensor& teacher,
                const DistillLossOptions& options) {
  const torch::Tensor s = student.to(torch::kDouble), t = teacher.to(torch::kDouble);
  const int64_t B = s.size(0), K = s.size(1), H = s.size(2), W = s.size(3);
  double cells = 0, whole = 0;
  for (int64_t b = 0; b < B; ++b) {
    std::vector<double> t_mean(K, 0.0), s_mean(K, 0.0);
    for (int64_t h = 0; h < H; ++h) {
      for (int64_t w = 0; w < W; ++w) {
        std::vector<double> t_cell, s_cell;
        for (int64_t k = 0; k < K; ++k) {
          t_cell.push_back(t[b][k][h][w].item<double>());
          s_cell.push_back(s[b][k][h][w].item<double>());
          t_mean[k] += t_cell.back() / static_cast<double>(H * W);
          s_mean[k] += s_cell.back() / static_cast<double>(H * W);
        }
        cells += divergence(t_cell, s_cell, options.temperature) / static_cast<double>(B * H * W);
      }
    }
    whole += divergence(t_mean, s_mean, options.temperature) / static_cast<double>(B);
  }
  return options.temperature * options.temperature * ((1 - options.pooled) * cells + options.pooled * whole);
}

TEST(DistillLoss, of_two_classes_is_what_the_hand_computes) {
  const torch::Tensor teacher = torch::zeros({1, 2, 1, 1});
  const torch::Tensor student = torch::tensor({std::log(3.0F), 0.0F}).view({1, 2, 1, 1});
  // p = (1/2, 1/2), q = (3/4, 1/4): (ln(2/3) + ln 2) / 2
  for (const double pooled : {0.0, 0.5, 1.0})
    EXPECT_NEAR(distill_loss(student, teacher, {1, pooled}).item<double>(), 0.5 * std::log(4.0 / 3.0), 1e-6);
}

TEST(DistillLoss, agrees_with_a_float64_loop) {
  torch::manual_seed(1);
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 2, 1, 1}, {2, 5, 3, 2}, {3, 7, 1, 4}, {1, 40, 4, 4}}) {
    const torch::Tensor student = 3 * torch::randn(shape), teacher = 3 * torch::randn(shape);
    for (const DistillLossOptions& options : {DistillLossOptions{1, 0.2}, {2, 0}, {4, 1}, {0.5, 0.7}}) {
      const double wanted = expected(student, teacher, options);
      EXPECT_NEAR(distill_loss(student, teacher, options).item<double>(), wanted, 1e-5 * (1 + wanted))
          << "T " << options.temperature << ", pooled " << options.pooled;
    }
  }
}

TEST(DistillLoss, is_zero_for_the_teacher_itself_and_whatever_is_added_to_a_cells_logits) {
  torch::manual_seed(2);
  const torch::Tensor teacher = torch::randn({2, 6, 3, 3});
  EXPECT_NEAR(distill_loss(teacher, teacher, {2, 0.3}).item<double>(), 0, 1e-6);
  EXPECT_NEAR(distill_loss(teacher + torch::randn({2, 1, 3, 3}), teacher, {2, 0.3}).item<double>(), 0, 1e-6);
}

TEST(DistillLoss, gradient_is_that_of_small_differences) {
  torch::manual_seed(3);
  const torch::Tensor teacher = torch::randn({2, 4, 2, 3}, torch::kDouble);
  const torch::Tensor student = torch::randn({2, 4, 2, 3}, torch::kDouble).requires_grad_(true);
  distill_loss(student, teacher, {2, 0.3}).backward();
  constexpr double kStep = 1e-6;
  const torch::NoGradGuard no_grad;
  for (int64_t i = 0; i < student.numel(); i += 5) {
    torch::Tensor up = student.clone(), down = student.clone();
    up.view(-1)[i] += kStep;
    down.view(-1)[i] -= kStep;
    const double slope =
        (distill_loss(up, teacher, {2, 0.3}) - distill_loss(down, teacher, {2, 0.3})).item<double>() /
        (2 * kStep);
    EXPECT_NEAR(student.grad().view(-1)[i].item<double>(), slope, 1e-7);
  }
}

TEST(DistillLoss, says_what_does_not_fit) {
  const torch::Tensor x = torch::zeros({2, 3, 4, 4});
  EXPECT_THROWS_WITH(distill_loss(x, torch::zeros({2, 3, 4}), {}), ArgumentError,
                     "[distill_loss] expected teacher [B, K, h, w]; got teacher [2, 3, 4]");
  EXPECT_THROWS_WITH(distill_loss(torch::zeros({2, 3, 4, 5}), x, {}), ArgumentError,
                     "[distill_loss] expected student [B=2, K=3, h=4, w=4]; got student [2, 3, 4, 5]");
  EXPECT_THROWS_WITH(distill_loss(x, x, {0, 0.2}), ArgumentError,
                     "[distill_loss] expected temperature > 0; got temperature 0");
  EXPECT_THROWS_WITH(distill_loss(x, x, {1, 1.5}), ArgumentError,
                     "[distill_loss] expected pooled 0 to 1; got pooled 1.5");
}

}  // namespace
}  // namespace gaze::models
