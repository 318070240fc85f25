// Scalar formulas of squeeze_excite, for host and device. Includes no torch. See gate_math.h for T.
#pragma once

#include "modules/ops/gate_math.h"

namespace gaze::detail {

// A hidden unit after its ReLU, from the layer's sum with bias.
template <typename T>
GAZE_HOST_DEVICE static inline T squeeze_excite_hidden(T sum) {
  return sum > T(0) ? sum : T(0);
}

// Through that ReLU, from the unit's value after it.
template <typename T>
GAZE_HOST_DEVICE static inline T squeeze_excite_grad_hidden(T grad, T hidden) {
  return hidden > T(0) ? grad : T(0);
}

// output = relu(x · gate + residual); residual 0 and relu false where there are none.
template <typename T>
GAZE_HOST_DEVICE static inline T squeeze_excite_output(T x, T gate, T residual, bool relu) {
  return gate_tail(x * gate, residual, relu);
}

// x's gradient but for the maximum's share, which the first largest cell gets on top.
template <typename T>
GAZE_HOST_DEVICE static inline T squeeze_excite_grad_x(T grad_output, T gate, T grad_mean, T cells) {
  return grad_output * gate + grad_mean / cells;
}

}  // namespace gaze::detail
