// What a CUDA room needs from LibTorch.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "modules/ops/cuda/cuda_type.h"

namespace gaze::detail {

// Of the four types that check_floating lets through.
constexpr CudaType cuda_type(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Double:
      return CudaType::float64;
    case c10::ScalarType::BFloat16:
      return CudaType::bfloat16;
    case c10::ScalarType::Half:
      return CudaType::float16;
    default:
      return CudaType::float32;
  }
}

}  // namespace gaze::detail
