// Scalar formulas of spatial_gate, for host and device. Includes no torch. See gate_math.h for T.
#pragma once

#include <cstdint>

#include "modules/ops/gate_math.h"

namespace gaze::detail {

// 1 / √(variance + eps)
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_inverse_sigma(T variance, T eps) {
  return T(1) / gate_sqrt(variance + eps);
}

// The logit of a normed activation.
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_logit(T normed, T scale, T shift) {
  return normed * scale + shift;
}

// output = relu((x · channel gate) · gate + residual), for numbers and for vectors of them; lowest is
// gate_lowest(relu), channel gate 1 and residual -0 where there are none.
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_output(T x, T channel_gate, T gate, T residual, T lowest) {
  return gate_tail((x * channel_gate) * gate, residual, lowest);
}

// The gradient of the activation through the norm. mean_grad and mean_grad_normed are the means over the
// batch of grad_logit and of grad_logit · normed, 0 with fixed statistics.
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_grad_activation(T grad_logit, T normed, T scale,
                                                              T inverse_sigma, T mean_grad,
                                                              T mean_grad_normed) {
  return (grad_logit - mean_grad - normed * mean_grad_normed) * scale * inverse_sigma;
}

// The gradient of u = x · channel gate, for numbers and for vectors of them: grad_mean_share is the mean's
// gradient divided by C, grad_largest_share the maximum's for the first largest channel and 0 for the others.
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_grad_u(T grad_output, T gate, T grad_mean_share,
                                                     T grad_largest_share) {
  return grad_output * gate + grad_mean_share + grad_largest_share;
}

}  // namespace gaze::detail
