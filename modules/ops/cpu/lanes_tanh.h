// The hyperbolic tangent of lanes. Included by sources compiled per instruction set alone, see lanes.h.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <cmath>

#include "modules/ops/cpu/lanes.h"
#include "modules/ops/cpu/lanes_exp.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

// 1 / x of numbers in [1, 2^125], within 1 unit in the last place; keeps a NaN. Where a division is slow, an
// estimate of 14 bits and one step of Newton's.
GAZE_LANES Lanes<float> reciprocal(Lanes<float> x) {
#if defined(__AVX512F__)
  const auto estimate = (Lanes<float>)_mm512_rcp14_ps((__m512)x);
  return estimate + estimate * (1.0F - x * estimate);
#else
  return 1.0F / x;
#endif
}
GAZE_LANES Lanes<double> reciprocal(Lanes<double> x) {
  return 1.0 / x;
}

// Within 3 units in the last place; exact for 0 (with its sign), infinities and |x| >= 10; keeps a NaN.
// Below 5/8 Lambert's continued fraction x / (1 + x²/(3 + x²/(5 + x²/(7 + x²/9)))) as one quotient; from
// there on (1 - e) / (1 + e) with e = exp(-2|x|).
GAZE_LANES Lanes<float> tanh_of(Lanes<float> x) {
  const Lanes<float> magnitude = x < 0.0F ? -x : x, square = x * x;
  const Lanes<float> e = exp_of_negative(-2.0F * magnitude);
  const Lanes<float> sign = x < 0.0F ? all_lanes(-1.0F) : all_lanes(1.0F);
  const auto small = magnitude < 0.625F;
  const Lanes<float> above = small ? x * (945.0F + square * (105.0F + square)) : sign * (1.0F - e);
  const Lanes<float> below = small ? 945.0F + square * (420.0F + square * 15.0F) : 1.0F + e;
  return above / below;
}
GAZE_LANES Lanes<double> tanh_of(Lanes<double> x) {
  for (int64_t i = 0; i < kLanes<double>; ++i) x[i] = ::tanh(x[i]);
  return x;
}

// tanh(a + b) = 1 - 2 · complement, for many pairs of few numbers: exponentials are taken a number, and a
// pair costs a product and a reciprocal.
//
// complement = 1 / (1 + exp(2a) · exp(2b)), within 2e-7 for float and 1e-15 for double.
constexpr int kLargestFactor = 20;  // |a| and |b|: neither the factors nor their product overflow
template <typename V>
GAZE_LANES V tanh_factor(V a) {
  return exp_of_moderate(a + a);
}
template <typename V>
GAZE_LANES V complement_of_factors(V a_factor, V b_factor) {
  return reciprocal(a_factor * b_factor + 1);
}

}  // namespace
}  // namespace gaze::detail
