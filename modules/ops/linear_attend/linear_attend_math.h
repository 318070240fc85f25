// Scalar formulas of linear_attend, for host and device, and how its sums are ordered. Includes no torch.
//
// With φ the features, Y_s = [v_s, 1] and the lower triangle taken where causal,
//   [n_t, d_t] = Σ_s (φ(q_t)·φ(k_s)) Y_s,   output_t = n_t / d_t,   G_t = [g_t, -g_t·output_t] / d_t
//   dφ(q_t) = Σ_s (G_t·Y_s) φ(k_s),   dφ(k_s) = Σ_t (G_t·Y_s) φ(q_t),   dv_s = Σ_t (φ(q_t)·φ(k_s)) G_t
// so there are two sweeps of one kind: tokens of one side are streamed into a state, the sum of φ(x) yᵀ over
// them, and those of the other side read it. First keys are streamed with Y, in order, and queries read; then
// queries with G, last to first, and keys read. A row of the state stands for a feature, its columns for Y or
// G. Causal sweeps go by chunks of tokens: a chunk's readers meet the state before it, and pairwise those of
// its own tokens that they see.
//
// For φ = exp, row m of the state is kept divided by exp(top_m + kHeadroom), top_m the largest logit streamed
// before the chunk or by its first token; a chunk ends before a token that exceeds one by more. A query's
// features are divided by exp(shift), shift = kHeadroom + the largest of its logits + top, and stay so when
// it is streamed. Both divisors cancel in every formula above, and no exponent is ever above 0.
#pragma once

#include <cstdint>

#include "modules/core/host_device.h"

namespace gaze::detail {

enum class LinearAttendMap : int64_t { elu_plus_one, relu, exp };

constexpr double kLinearAttendHeadroom = 16;

// elu(x) + 1, for numbers and for vectors of them; `exponential` is exp(x) where x <= 0. Keeps a NaN of it.
template <typename T>
GAZE_HOST_DEVICE static inline T linear_attend_elu_plus_one(T x, T exponential) {
  return x > T{} ? x + 1 : exponential;
}

template <typename T>
GAZE_HOST_DEVICE static inline T linear_attend_relu(T x) {
  return x < T{} ? T{} : x;
}

// dφ/dx from x and φ(x), for numbers and for vectors of them.
template <typename T>
GAZE_HOST_DEVICE static inline T linear_attend_slope(LinearAttendMap map, T x, T feature) {
  if (map == LinearAttendMap::exp) return feature;
  return x > T{} ? T{} + 1 : map == LinearAttendMap::relu ? T{} : feature;
}

}  // namespace gaze::detail
