// How many threads a kernel is launched with.
#pragma once

#include <cstdint>

namespace gaze::detail {

struct Grid {
  int64_t blocks = 0;
  int threads = 0;           // of a block; a multiple of 32
  int64_t shared_bytes = 0;  // of a block, the sum over its arrays, each rounded up to 16
};

inline constexpr int64_t shared_array_bytes(int64_t count, int64_t element_bytes) {
  return (count * element_bytes + 15) / 16 * 16;
}

}  // namespace gaze::detail
