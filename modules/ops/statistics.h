// The dtype in which sums, means, softmax statistics and maps are kept.
#pragma once

#include <c10/core/ScalarType.h>

namespace gaze::detail {

// float64 for float64, float32 for float32, bfloat16 and float16.
constexpr c10::ScalarType statistics_dtype(c10::ScalarType dtype) {
  return dtype == c10::ScalarType::Double ? c10::ScalarType::Double : c10::ScalarType::Float;
}

}  // namespace gaze::detail
