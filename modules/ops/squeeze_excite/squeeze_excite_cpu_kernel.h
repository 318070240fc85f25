// The CPU kernels of squeeze_excite as the op sees them. Includes no torch.
#pragma once

#include <cstdint>

#include "modules/ops/cpu/cpu_isa.h"
#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

// Memory is dense; "A" is double for float64, else float.
struct SqueezeExciteCpu {
  CpuType type;         // of x, residual, output, grad_output, grad_x
  bool channels_last;   // [B, H*W, C] in memory, else [B, C, H*W]
  int64_t B, C, HW, R;  // dims.h
  const void* x;        // [B, C, HW]
  const void *w1, *b1;  // A [R, C], A [R] or null
  const void *w2, *b2;  // A [C, R], A [C] or null
  bool max_pool, has_mix;
  double mix;
  void* gate;  // A [B, C]; out in forward, unused in backward

  const void* residual;  // [B, C, HW] or null
  bool relu;
  void* output;  // [B, C, HW] or null where the gate is all that is wanted

  const void* grad_output;  // [B, C, HW] or null
  const void* grad_gate;    // A [B, C] or null
  void* grad_x;             // [B, C, HW]
  void *grad_w1, *grad_b1;  // A [R, C], A [R]
  void *grad_w2, *grad_b2;  // A [C, R], A [C]
  double* grad_mix;         // one number
};

GAZE_CPU_KERNEL(void, squeeze_excite_forward, const SqueezeExciteCpu&, CpuRuntime&);
GAZE_CPU_KERNEL(void, squeeze_excite_backward, const SqueezeExciteCpu&, CpuRuntime&);

}  // namespace gaze::detail
