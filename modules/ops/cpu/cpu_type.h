// A tensor's dtype as the CPU kernels, which know no torch, are told it.
#pragma once

#include <c10/core/ScalarType.h>

#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

// Of the four types that check_floating lets through.
constexpr CpuType cpu_type(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Double:
      return CpuType::float64;
    case c10::ScalarType::BFloat16:
      return CpuType::bfloat16;
    case c10::ScalarType::Half:
      return CpuType::float16;
    default:
      return CpuType::float32;
  }
}

}  // namespace gaze::detail
