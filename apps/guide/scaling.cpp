// Why scores are divided by sqrt(D). Queries and keys of independent numbers of variance 1 have products of
// variance D. In wide models softmax would then give one key everything, and where a weight is 0 or 1 no
// gradient passes: the model could not learn to look elsewhere.
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "modules/ops/attend/attend.h"

namespace {

// Variance of the scores; the largest weight of a query's 32; the share of a gradient (its length at the
// scores, when that at the weights is 1) which passes softmax. Means over queries.
std::vector<double> measure(const torch::Tensor& q, const torch::Tensor& k, double scale) {
  const torch::Tensor scores = scale * q.matmul(k.transpose(-2, -1));  // [B, 1, 1, S]
  // Zeros added to the scores: their gradient is that of the scores.
  const torch::Tensor zeros = torch::zeros_like(scores).requires_grad_();  // [B, 1, 1, S]
  gaze::ops::AttendOptions options;
  options.scale = scale;
  options.weights = gaze::ops::AttendWeights::per_head;
  const torch::Tensor weights = gaze::ops::attend(q, k, k, zeros, options).weights;  // [B, 1, 1, S]
  const torch::Tensor noise = torch::randn_like(weights);
  const torch::Tensor wanted = noise / noise.norm(2, -1, true);  // of length 1 for each query
  weights.backward(wanted);
  return {scores.var().item<double>(), weights.amax(-1).mean().item<double>(),
          zeros.grad().norm(2, -1).mean().item<double>()};
}

}  // namespace

int main() {
  torch::manual_seed(1);
  fmt::print("{:<24}{:>27}{:>27}\n", "32 keys a query", "q * k", "q * k / sqrt(D)");
  guide::print_head("D", {"variance", "largest", "passes", "variance", "largest", "passes"});
  for (int64_t width = 4; width <= 1024; width *= 4) {
    const torch::Tensor q = torch::randn({500, 1, 1, width});   // [B, N, T, D]
    const torch::Tensor k = torch::randn({500, 1, 32, width});  // [B, N, S, D]
    std::vector<double> numbers = measure(q, k, 1);
    for (const double number : measure(q, k, 1 / std::sqrt(width))) numbers.push_back(number);
    guide::print_row(std::to_string(width), numbers);
  }
}
