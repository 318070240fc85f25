// From CudaType to the type itself.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "modules/ops/cuda/cuda_type.h"

namespace gaze::detail {

// body(T()) for the type that `type` names.
template <class Body>
auto for_cuda_type(CudaType type, const Body& body) {
  switch (type) {
    case CudaType::float64:
      return body(double());
    case CudaType::bfloat16:
      return body(__nv_bfloat16());
    case CudaType::float16:
      return body(__half());
    default:
      return body(float());
  }
}

}  // namespace gaze::detail
