// The exponential of lanes, and of lanes that are at most 0 as a softmax wants it. Included by sources
// compiled per instruction set alone, see lanes.h.
#pragma once

#include <cmath>

#include "modules/ops/cpu/lanes.h"

namespace gaze::detail {
namespace {  // NOLINT: one copy a build is the point

// Within 2 units in the last place for |x| <= 87; exact for 0; keeps a NaN.
// exp(x) = 2^n · exp(r), n the nearest integer to x / ln 2, exp(r) its series.
GAZE_LANES Lanes<float> exp_of_moderate(Lanes<float> x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 · 2^23: the sum's last bits are the integer
  constexpr float kHigh = 0x1.62e4p-1F, kLow = 0x1.7f7d1cp-20F;  // ln 2 in two parts, the first short
  const Lanes<float> shifted = x * 0x1.715476p0F + kRounder;
  const Lanes<float> n = shifted - kRounder;
  const Lanes<float> r = (x - n * kHigh) - n * kLow;
  Lanes<float> series = r * (1 / 5040.0F) + 1 / 720.0F;
  series = series * r + 1 / 120.0F;
  series = series * r + 1 / 24.0F;
  series = series * r + 1 / 6.0F;
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  const Bits16 exponent = ((Bits16)shifted + 127u) << 23;
  return series * (Lanes<float>)exponent;
}

// The same for any x <= 0: 0 below the smallest normal number, and for -inf.
GAZE_LANES Lanes<float> exp_of_negative(Lanes<float> x) {
  constexpr float kSmallest = -87.33F;
  return x < kSmallest ? Lanes<float>{} : exp_of_moderate(x);
}

GAZE_LANES Lanes<double> exp_of_moderate(Lanes<double> x) {
  for (int64_t i = 0; i < kLanes<double>; ++i) x[i] = ::exp(x[i]);
  return x;
}
GAZE_LANES Lanes<double> exp_of_negative(Lanes<double> x) {
  return exp_of_moderate(x);
}

// 1 / (1 + exp(-x)) of lanes that may be anything; 0 or 1 far out, a NaN stays one.
template <typename V>
GAZE_LANES V sigmoid(V x) {
  const V power = exp_of_negative(x < 0 ? x : -x), above = 1 / (1 + power);
  return x < 0 ? power * above : above;
}

}  // namespace
}  // namespace gaze::detail
