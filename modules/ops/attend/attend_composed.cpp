// attend in plain ATen calls: runs on every device that has no kernel of its own, and is what an exporter
// sees.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <torch/library.h>

#include <limits>

#include "modules/ops/attend/attend_math.h"
#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// q and k in the statistics dtype -> [B, N, T, S], -inf where a query may not look.
at::Tensor masked_scores(const at::Tensor& q, const at::Tensor& k, const std::optional<at::Tensor>& mask,
                         std::optional<double> scale, bool causal) {
  const int64_t queries = q.size(2), keys = k.size(2);
  const double factor = scale.value_or(detail::attend_default_scale(q.size(3)));
  at::Tensor scores = at::matmul(q * factor, k.transpose(2, 3));  // [B, N, T, S]
  if (detail::is_given(mask)) {
    if (mask->scalar_type() == at::kBool) {
      scores.masked_fill_(mask->logical_not(), -kInfinity);
    } else {
      scores.add_(mask->to(scores.scalar_type()));
    }
  }
  if (causal) {
    const int64_t diagonal = detail::attend_last_key(0, queries, keys);
    const at::Tensor seen = at::ones({queries, keys}, q.options().dtype(at::kBool)).tril(diagonal);  // [T, S]
    scores.masked_fill_(seen.logical_not(), -kInfinity);
  }
  return scores;
}

// A row without a key has -inf here; 0 instead keeps its exponentials at exp(-inf) = 0.
at::Tensor finite_or_zero(const at::Tensor& rows) {
  return rows.masked_fill(rows == -kInfinity, 0);
}

}  // namespace

namespace detail {

AttendForward attend_composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& mask, std::optional<double> scale, bool causal,
                              int64_t weights) {
  check_attend(q, k, v, mask, weights);
  const at::ScalarType dtype = detail::statistics_dtype(q.scalar_type());
  at::Tensor probabilities = masked_scores(q.to(dtype), k.to(dtype), mask, scale, causal);  // [B, N, T, S]
  at::Tensor log_sum_exp;
  if (k.size(2) == 0) {
    log_sum_exp = at::full({q.size(0), q.size(1), q.size(2)}, -kInfinity, probabilities.options());
  } else {
    const at::Tensor largest = finite_or_zero(probabilities.amax(3, true));  // [B, N, T, 1]
    probabilities.sub_(largest).exp_();
    const at::Tensor sum = probabilities.sum(3, true);  // [B, N, T, 1]
    log_sum_exp = (sum.log() + largest).squeeze(3);     // [B, N, T]
    probabilities.div_(sum.masked_fill(sum == 0, 1));
  }
  const at::Tensor output = at::matmul(probabilities, v.to(dtype)).to(q.scalar_type());  // [B, N, T, V]
  const auto which = static_cast<ops::AttendWeights>(weights);
  if (which == ops::AttendWeights::none) probabilities = at::empty({0}, probabilities.options());
  if (which == ops::AttendWeights::head_mean) probabilities = probabilities.mean(1);  // [B, T, S]
  return {output, probabilities, log_sum_exp};
}

// With P the weights and dP = dO·vᵀ + dW:  dS = P ⊙ (dP − rowsum(dP ⊙ P)),  dq = scale·dS·k,  dk =
// scale·dSᵀ·q,  dv = Pᵀ·dO.
AttendBackward attend_backward_composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                        const std::optional<at::Tensor>& mask, const at::Tensor& log_sum_exp,
                                        const std::optional<at::Tensor>& grad_output,
                                        const std::optional<at::Tensor>& grad_weights,
                                        std::optional<double> scale, bool causal, bool mask_gradient) {
  const at::ScalarType dtype = detail::statistics_dtype(q.scalar_type());
  const double factor = scale.value_or(detail::attend_default_scale(q.size(3)));
  const at::Tensor wide_q = q.to(dtype), wide_k = k.to(dtype), wide_v = v.to(dtype);
  const at::Tensor probabilities = masked_scores(wide_q, wide_k, mask, scale, causal)
                                       .sub_(finite_or_zero(log_sum_exp).unsqueeze(3))
                                       .exp_();
  at::Tensor grad_probabilities = at::zeros_like(probabilities);  // [B, N, T, S]
  at::Tensor grad_v;
  if (detail::is_given(grad_output)) {
    const at::Tensor wide_grad = grad_output->to(dtype);
    grad_probabilities = at::matmul(wide_grad, wide_v.transpose(2, 3));
    grad_v = at::matmul(probabilities.transpose(2, 3), wide_grad);  // [B, N, S, V]
  } else {
    grad_v = at::zeros(v.sizes(), wide_v.options());
  }
  if (is_given(grad_weights)) {
    const bool of_mean = grad_weights->dim() == 3;  // [B, T, S]: each head has an equal share
    grad_probabilities.add_(of_mean ? grad_weights->to(dtype).unsqueeze(1) / static_cast<double>(q.size(1))
                                    : grad_weights->to(dtype));
  }
  const at::Tensor row = (grad_probabilities * probabilities).sum(3, true);                // [B, N, T, 1]
  const at::Tensor grad_scores = grad_probabilities.sub_(row).mul_(probabilities);         // [B, N, T, S]
  const at::Tensor grad_q = at::matmul(grad_scores, wide_k).mul_(factor);                  // [B, N, T, D]
  const at::Tensor grad_k = at::matmul(grad_scores.transpose(2, 3), wide_q).mul_(factor);  // [B, N, S, D]
  const at::Tensor grad_mask = mask_gradient ? at::sum_to(grad_scores, mask->sizes()).to(mask->scalar_type())
                                             : at::empty({0}, q.options());
  return {grad_q.to(q.scalar_type()), grad_k.to(k.scalar_type()), grad_v.to(v.scalar_type()), grad_mask};
}

}  // namespace detail

TORCH_LIBRARY_IMPL(gaze, CompositeExplicitAutograd, library) {
  library.impl("attend", detail::attend_composed);
  library.impl("attend_backward", detail::attend_backward_composed);
}

}  // namespace gaze
