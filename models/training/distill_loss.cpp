#include "models/training/distill_loss.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

// Rows of logits [N, K] -> mean over rows of KL(teacher || student) at temperature T.
torch::Tensor mean_divergence(const torch::Tensor& student, const torch::Tensor& teacher, double T) {
  const torch::Tensor q = (student / T).log_softmax(1), p = (teacher / T).log_softmax(1);  // [N, K]
  return torch::kl_div(q, p, at::Reduction::Sum, /*log_target=*/true) / student.size(0);
}

// [B, K, h, w] -> [B * h * w, K]
torch::Tensor rows_of(const torch::Tensor& evidence) {
  return evidence.permute({0, 2, 3, 1}).flatten(0, 2);
}

}  // namespace

torch::Tensor distill_loss(const torch::Tensor& student, const torch::Tensor& teacher,
                           const DistillLossOptions& options) {
  check_shape(teacher, "teacher", {"B", "K", "h", "w"}, "distill_loss");
  check_shape(
      student, "student",
      {{"B", teacher.size(0)}, {"K", teacher.size(1)}, {"h", teacher.size(2)}, {"w", teacher.size(3)}},
      "distill_loss");
  check_that(options.temperature > 0, "distill_loss", "temperature > 0",
             fmt::format("temperature {}", options.temperature));
  check_that(options.pooled >= 0 && options.pooled <= 1, "distill_loss", "pooled 0 to 1",
             fmt::format("pooled {}", options.pooled));
  const double T = options.temperature;
  const torch::Tensor cells = mean_divergence(rows_of(student), rows_of(teacher), T);
  const torch::Tensor whole = mean_divergence(student.mean({2, 3}), teacher.mean({2, 3}), T);
  return T * T * ((1 - options.pooled) * cells + options.pooled * whole);
}

}  // namespace gaze::models
