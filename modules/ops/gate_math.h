// Scalar formulas of the gates (squeeze_excite, spatial_gate), for host and device. Includes no torch. T is
// the type of the statistics: float, or double for float64. Functions are static, so that a source compiled
// for several instruction sets never shares one.
#pragma once

#include <cmath>

#include "modules/core/host_device.h"

namespace gaze::detail {

GAZE_HOST_DEVICE static inline float gate_exp(float p) {
  return ::expf(p);
}
GAZE_HOST_DEVICE static inline double gate_exp(double p) {
  return ::exp(p);
}

GAZE_HOST_DEVICE static inline float gate_sqrt(float p) {
  return ::sqrtf(p);
}
GAZE_HOST_DEVICE static inline double gate_sqrt(double p) {
  return ::sqrt(p);
}

// g of the logit p. Far out the exponential is infinite or 0, and g 0 or 1.
template <typename T>
GAZE_HOST_DEVICE static inline T gate_sigmoid(T p) {
  return T(1) / (T(1) + gate_exp(-p));
}

// What x is multiplied with: exactly 1 for mix = 0, g without a mix.
template <typename T>
GAZE_HOST_DEVICE static inline T gate_mixed(T g, bool has_mix, T mix) {
  return has_mix ? T(1) + mix * (g - T(1)) : g;
}

// The logit's gradient from that of the mixed gate.
template <typename T>
GAZE_HOST_DEVICE static inline T gate_grad_logit(T grad_gate, T g, bool has_mix, T mix) {
  return (has_mix ? grad_gate * mix : grad_gate) * g * (T(1) - g);
}

// One cell's share of mix's gradient.
template <typename T>
GAZE_HOST_DEVICE static inline T gate_grad_mix(T grad_gate, T g) {
  return grad_gate * (g - T(1));
}

// What the tail's ReLU lets through at least.
template <typename T>
GAZE_HOST_DEVICE static inline T gate_lowest(bool relu) {
  return relu ? T(0) : -T(INFINITY);
}

// The end of a residual block (tail.h), for numbers and for vectors of them; keeps a NaN. residual -0
// where there is none: + 0 would make 0 of -0.
template <typename T>
GAZE_HOST_DEVICE static inline T gate_tail(T y, T residual, T lowest) {
  const T sum = y + residual;
  return sum < lowest ? lowest : sum;
}

}  // namespace gaze::detail
