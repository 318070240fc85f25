// Learning rate over a run. Includes no torch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gaze::models {

// Linear warm-up from 0 over `warmup` steps, then half a cosine down to `floor` x peak at `steps`. step
// counts from 0.
inline double warmup_cosine(int64_t step, int64_t steps, int64_t warmup, double peak, double floor = 0.01) {
  constexpr double kPi = 3.14159265358979323846;
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double done =
      static_cast<double>(step - warmup) / static_cast<double>(std::max<int64_t>(1, steps - warmup));
  return peak * (floor + (1 - floor) * 0.5 * (1 + std::cos(kPi * std::min(1.0, done))));
}

}  // namespace gaze::models
