// additive_attend in plain ATen calls: runs on every device that has no kernel of its own, and is what an
// exporter sees. Unlike a kernel it holds the tanh of all pairs, [B, T, S, D].
#include <ATen/ATen.h>
#include <torch/library.h>

#include <limits>

#include "modules/ops/additive_attend/additive_attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// In the statistics dtype.
struct Pairs {
  at::Tensor tanh;    // [B, T, S, D]
  at::Tensor scores;  // [B, T, S], -inf where a query may not look
};

Pairs pairs_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
               const std::optional<at::Tensor>& mask) {
  const at::ScalarType dtype = detail::statistics_dtype(query.scalar_type());
  Pairs pairs;
  pairs.tanh = at::tanh(query.to(dtype).unsqueeze(2) + key.to(dtype).unsqueeze(1));  // [B, T, S, D]
  pairs.scores = at::matmul(pairs.tanh, v.to(dtype));                                // [B, T, S]
  if (detail::is_given(mask)) {
    const at::Tensor hidden = detail::additive_pairs(*mask, query.size(1)).logical_not();  // [B, T, S]
    pairs.scores = pairs.scores.masked_fill(hidden, -kInfinity);
  }
  return pairs;
}

// A row without a key has -inf here; 0 instead keeps its exponentials at exp(-inf) = 0.
at::Tensor finite_or_zero(const at::Tensor& rows) {
  return rows.masked_fill(rows == -kInfinity, 0);
}

}  // namespace

namespace detail {

AdditiveForward additive_attend_composed(const at::Tensor& query, const at::Tensor& key, const at::Tensor& v,
                                         const at::Tensor& values, const std::optional<at::Tensor>& mask) {
  check_additive_attend(query, key, v, values, mask);
  const at::Tensor scores = pairs_of(query, key, v, mask).scores;  // [B, T, S]
  const at::Tensor wide_values = values.to(scores.scalar_type());
  if (key.size(1) == 0) {
    const at::Tensor nothing = at::full({query.size(0), query.size(1)}, -kInfinity, scores.options());
    return {at::matmul(scores, wide_values).to(query.scalar_type()), scores, nothing};
  }
  const at::Tensor largest = finite_or_zero(scores.amax(2, true));  // [B, T, 1]
  const at::Tensor powers = (scores - largest).exp();               // [B, T, S]
  const at::Tensor sum = powers.sum(2, true);                       // [B, T, 1]
  const at::Tensor weights = powers / sum.masked_fill(sum == 0, 1);
  return {at::matmul(weights, wide_values).to(query.scalar_type()), weights,
          (sum.log() + largest).squeeze(2)};
}

// With P the weights, dP = dO·valuesᵀ + dW and dE = P ⊙ (dP − rowsum(dP ⊙ P)) the gradient of the scores:
// dvalues = Pᵀ·dO,  dv = sum over pairs of dE · tanh,  and of query + key  dE · v · (1 − tanh²).
AdditiveBackward additive_attend_backward_composed(const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& v, const at::Tensor& values,
                                                   const std::optional<at::Tensor>& mask,
                                                   const at::Tensor& log_sum_exp,
                                                   const std::optional<at::Tensor>& grad_context,
                                                   const std::optional<at::Tensor>& grad_weights) {
  const auto [tanh, scores] = pairs_of(query, key, v, mask);
  const at::ScalarType dtype = scores.scalar_type();
  const at::Tensor weights = (scores - finite_or_zero(log_sum_exp).unsqueeze(2)).exp();  // [B, T, S]
  at::Tensor grad_pairs = at::zeros_like(weights);                                       // [B, T, S]
  at::Tensor grad_values = at::zeros(values.sizes(), weights.options());
  if (is_given(grad_context)) {
    const at::Tensor wide_grad = grad_context->to(dtype);
    grad_pairs = at::matmul(wide_grad, values.to(dtype).transpose(1, 2));
    grad_values = at::matmul(weights.transpose(1, 2), wide_grad);  // [B, S, V]
  }
  if (is_given(grad_weights)) grad_pairs = grad_pairs + grad_weights->to(dtype);
  const at::Tensor row = (grad_pairs * weights).sum(2, true);                   // [B, T, 1]
  const at::Tensor grad_scores = ((grad_pairs - row) * weights).unsqueeze(3);   // [B, T, S, 1]
  const at::Tensor grad_sum = grad_scores * (1 - tanh.square()) * v.to(dtype);  // [B, T, S, D]
  return {grad_sum.sum(2).to(query.scalar_type()), grad_sum.sum(1).to(key.scalar_type()),
          (grad_scores * tanh).sum({0, 1, 2}).to(v.scalar_type()), grad_values.to(values.scalar_type())};
}

}  // namespace detail

TORCH_LIBRARY_IMPL(gaze, CompositeExplicitAutograd, library) {
  library.impl("additive_attend", detail::additive_attend_composed);
  library.impl("additive_attend_backward", detail::additive_attend_backward_composed);
}

}  // namespace gaze
