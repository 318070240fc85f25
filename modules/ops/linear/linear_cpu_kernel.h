// The CPU kernel of linear as the op sees it. Includes no torch.
#pragma once

#include <cstdint>

#include "modules/ops/cpu/cpu_isa.h"
#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

// All dense, float64 or float32.
struct LinearCpu {
  CpuType type;
  int64_t rows, inputs, outputs;
  const void *x, *weight;  // [rows, inputs], [outputs, inputs]
  const void* bias;        // [outputs], or null
  void* y;                 // [rows, outputs]
};

GAZE_CPU_KERNEL(void, linear_rows, const LinearCpu&, const CpuRuntime&);

}  // namespace gaze::detail
