// A tensor's dtype and place as the CPU kernels, which know no torch, are told them.
#pragma once

#include <ATen/core/Tensor.h>
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

// Where a tensor's numbers are; somewhere for a tensor without any, which LibTorch places at null: kernels
// reckon with it before they find that there is nothing to read.
inline const void* place_of(const at::Tensor& x) {
  static const double nowhere[8] = {};
  return x.numel() > 0 ? x.const_data_ptr() : nowhere;
}

}  // namespace gaze::detail
