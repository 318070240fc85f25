// How many threads a kernel is launched with.
#pragma once

#include <cstdint>

#include "modules/core/host_device.h"

namespace gaze::detail {

struct Grid {
  int64_t blocks = 0;
  int threads = 0;           // of a block; a multiple of 32
  int64_t shared_bytes = 0;  // of a block, the sum of array_bytes() over its arrays
};

// What an array takes in shared memory and in scratch: a multiple of 16.
GAZE_HOST_DEVICE inline constexpr int64_t array_bytes(int64_t count, int64_t element_bytes) {
  return (count * element_bytes + 15) / 16 * 16;
}

}  // namespace gaze::detail
