#include "models/explain/integrated_gradients.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <vector>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "integrated_gradients";

struct Rule {
  at::Tensor nodes, weights;  // [n] float64
};

// Gauss-Legendre on [0, 1] by the eigenvalues of its Jacobi matrix (Golub and Welsch 1969).
Rule gauss_legendre(int64_t n) {
  const at::Tensor k = at::arange(1, n, at::kDouble);
  const at::Tensor beside = k / (4 * k.square() - 1).sqrt();
  const auto [values, vectors] = at::linalg_eigh(at::diag(beside, 1) + at::diag(beside, -1));
  return {(values + 1) / 2, vectors[0].square()};
}

}  // namespace

IntegratedGradients integrated_gradients(const Scores& scores, const at::Tensor& x,
                                         const at::Tensor& baseline,
                                         const IntegratedGradientsOptions& options) {
  check_shape(x, "x", {{"B", 1}, {"C", 3}, "H", "W"}, kOp);
  check_that(options.steps >= 1 && options.batch >= 1, kOp, "steps and batch of at least 1",
             fmt::format("{} and {}", options.steps, options.batch));
  const at::Tensor start = baseline.defined() ? baseline : at::zeros_like(x);
  check_that(start.sizes() == x.sizes(), kOp, "a baseline " + shape_text(x.sizes()),
             shape_text(start.sizes()));
  IntegratedGradients result;
  {
    const at::NoGradGuard no_grad;
    const at::Tensor ends = scores(at::cat({x, start}));  // [2, K]
    result.scores = ends[0];
    result.baseline_scores = ends[1];
  }
  const at::AutoGradMode with_graph(true);
  const int64_t K = result.scores.size(0);
  const Rule rule = gauss_legendre(options.steps);
  at::Tensor mean = at::zeros({K, 3, x.size(2), x.size(3)}, at::kDouble);
  for (int64_t first = 0; first < options.steps; first += options.batch) {
    const int64_t count = std::min(options.batch, options.steps - first);
    const auto share = [&](const at::Tensor& all) {
      return all.narrow(0, first, count).view({count, 1, 1, 1});
    };
    const at::Tensor points =
        (start + share(rule.nodes).to(x.scalar_type()) * (x - start)).detach().requires_grad_();
    const at::Tensor found = scores(points);  // [count, K]
    for (int64_t k = 0; k < K; ++k) {
      const at::Tensor gradient = torch::autograd::grad({found.select(1, k).sum()}, {points}, {},
                                                        /*retain_graph=*/k + 1 < K)[0];
      mean[k] += (gradient.to(at::kDouble) * share(rule.weights)).sum(0);
    }
  }
  const at::Tensor attributions = mean * (x - start)[0].to(at::kDouble);  // [K, 3, H, W]
  result.gap = (attributions.sum({1, 2, 3}) - (result.scores - result.baseline_scores).to(at::kDouble))
                   .abs()
                   .to(at::kFloat);
  result.attributions = attributions.to(at::kFloat);
  return result;
}

}  // namespace gaze::models
