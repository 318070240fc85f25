// Scalar rules of attend, for host and device. Includes no torch.
#pragma once

#include <cmath>
#include <cstdint>

#include "modules/core/host_device.h"

namespace gaze::detail {

GAZE_HOST_DEVICE inline double attend_default_scale(int64_t width) {
  return 1.0 / std::sqrt(static_cast<double>(width));
}

// The last key that query t of T sees under a causal mask over S keys; negative where it sees none.
GAZE_HOST_DEVICE inline int64_t attend_last_key(int64_t t, int64_t queries, int64_t keys) {
  return t + keys - queries;
}

}  // namespace gaze::detail
