// The CPU kernels of spatial_gate as the op sees them. Includes no torch.
#pragma once

#include <cstdint>

#include "modules/ops/cpu/cpu_isa.h"
#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

// Memory is dense; "A" is double for float64, else float.
struct SpatialGateCpu {
  CpuType type;              // of x, residual, output, grad_output, grad_x
  bool channels_last;        // [B, H, W, C] in memory, else [B, C, H, W]
  int64_t B, C, H, W, K;     // dims.h; K the side of the kernel
  const void* x;             // [B, C, H, W]
  const void* weight;        // A [2, K, K]
  const void* channel_gate;  // A [B, C] or null
  double bias;               // 0 where there is none
  bool has_norm, fixed_statistics, has_mix;
  double scale, shift, eps, mix;
  double mean, variance;  // with fixed_statistics in, else out of forward; with has_norm

  void* gate;            // A [B, H, W]; of forward
  const void* residual;  // [B, C, H, W] or null
  bool relu;
  void* output;  // [B, C, H, W]

  const void* grad_output;                             // [B, C, H, W] or null
  const void* grad_gate;                               // A [B, H, W] or null
  void* grad_x;                                        // [B, C, H, W]
  void* grad_weight;                                   // A [2, K, K]
  void* grad_channel_gate;                             // A [B, C], with channel_gate
  double grad_bias, grad_scale, grad_shift, grad_mix;  // out
};

GAZE_CPU_KERNEL(void, spatial_gate_forward, SpatialGateCpu&, CpuRuntime&);
GAZE_CPU_KERNEL(void, spatial_gate_backward, SpatialGateCpu&, CpuRuntime&);

}  // namespace gaze::detail
