// Scalar formulas of spatial_gate, for host and device. Includes no torch. See gate_math.h for T.
#pragma once

#include <cstdint>

#include "modules/ops/gate_math.h"

namespace gaze::detail {

// 1 / √(variance + eps)
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_inverse_sigma(T variance, T eps) {
  return T(1) / std::sqrt(variance + eps);
}

// The logit of a normed activation.
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_logit(T normed, T scale, T shift) {
  return normed * scale + shift;
}

// output = relu((x · channel gate) · gate + residual); channel gate 1, residual 0, relu false where there are
// none.
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_output(T x, T channel_gate, T gate, T residual, bool relu) {
  return gate_tail((x * channel_gate) * gate, residual, relu);
}

// The gradient of the activation through the norm. mean_grad and mean_grad_normed are the means over the
// batch of grad_logit and of grad_logit · normed, 0 with fixed statistics.
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_grad_activation(T grad_logit, T normed, T scale,
                                                              T inverse_sigma, T mean_grad,
                                                              T mean_grad_normed) {
  return (grad_logit - mean_grad - normed * mean_grad_normed) * scale * inverse_sigma;
}

// The gradient of u = x · channel gate: the mean spreads over the C channels, the maximum goes to the first
// largest one.
template <typename T>
GAZE_HOST_DEVICE static inline T spatial_gate_grad_gated(T grad_output, T gate, T grad_mean, T channels,
                                                         bool is_first_largest, T grad_largest) {
  return grad_output * gate + grad_mean / channels + (is_first_largest ? grad_largest : T(0));
}

}  // namespace gaze::detail
