// Scalar formulas of squeeze_excite, for host and device. Includes no torch. See gate_math.h for T.
#pragma once

#include "modules/ops/gate_math.h"

namespace gaze::detail {

// A hidden unit after its ReLU, from the layer's sum with bias; keeps a NaN.
template <typename T>
GAZE_HOST_DEVICE static inline T squeeze_excite_hidden(T sum) {
  return sum < T(0) ? T(0) : sum;
}

// Through that ReLU, from the unit's value after it.
template <typename T>
GAZE_HOST_DEVICE static inline T squeeze_excite_grad_hidden(T grad, T hidden) {
  return hidden > T(0) ? grad : T(0);
}

// output = relu(x · gate + residual), for numbers and for vectors of them; lowest is gate_lowest(relu),
// residual -0 where there is none.
template <typename T>
GAZE_HOST_DEVICE static inline T squeeze_excite_output(T x, T gate, T residual, T lowest) {
  return gate_tail(x * gate, residual, lowest);
}

// x's gradient but for the maximum's share, which the first largest cell gets on top; grad_mean_share is the
// mean's gradient divided by the cells. For numbers and for vectors of them.
template <typename T>
GAZE_HOST_DEVICE static inline T squeeze_excite_grad_x(T grad_output, T gate, T grad_mean_share) {
  return grad_output * gate + grad_mean_share;
}

}  // namespace gaze::detail
