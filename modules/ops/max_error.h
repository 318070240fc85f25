// How far an op may be from the same formula in float64, per dtype of its input.
#pragma once

#include <c10/core/ScalarType.h>

namespace gaze::ops {

// Largest |got - expected| / max(1, max |expected|) over a tensor. Each op's header has one; its test reads
// it.
struct MaxError {
  double float64;
  double float32;
  double bfloat16;
  double float16;

  constexpr double of(c10::ScalarType dtype) const {
    switch (dtype) {
      case c10::ScalarType::Double:
        return float64;
      case c10::ScalarType::BFloat16:
        return bfloat16;
      case c10::ScalarType::Half:
        return float16;
      default:
        return float32;
    }
  }
};

}  // namespace gaze::ops
