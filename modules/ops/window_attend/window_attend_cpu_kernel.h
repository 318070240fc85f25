// The CPU kernels of window_attend as the op sees them. Includes no torch.
#pragma once

#include <cstdint>

#include "modules/ops/cpu/cpu_isa.h"
#include "modules/ops/cpu/cpu_runtime.h"
#include "modules/ops/window_attend/window_attend_math.h"

namespace gaze::detail {

// A tensor [B, N, H, W, width] whose rows are dense; a sequence has H = 1.
struct MapRows {
  const void* data;
  int64_t b, n, h, w;  // strides
};

// "A" is double for float64, else float. S is the product of the windows' sizes.
struct WindowAttendCpu {
  CpuType type;     // of q, k, v, output and their gradients
  int64_t B, N, D;  // dims.h; H and W are the axes' lengths
  int64_t V;        // width of v
  WindowAxis rows, columns;
  MapRows q, k, v;  // [B, N, H, W, D] two times, [B, N, H, W, V]
  double scale;

  void* output;        // [B, N, H, W, V], dense, as is all below
  void* weights;       // A [B, N, H, W, S], or null
  void* mean_weights;  // A [B, H, W, S], or null
  void* log_sum_exp;   // A [B, N, H, W]
};

struct WindowAttendBackwardCpu {
  WindowAttendCpu forward;         // without its results
  MapRows grad_output;             // [B, N, H, W, V], its data may be null
  const void* grad_weights;        // A [B, N, H, W, S], or null
  const void* grad_mean_weights;   // A [B, H, W, S], or null
  void *grad_q, *grad_k, *grad_v;  // as q, k, v; dense
};

GAZE_CPU_KERNEL(void, window_attend_forward, const WindowAttendCpu&, CpuRuntime&);
GAZE_CPU_KERNEL(void, window_attend_backward, const WindowAttendBackwardCpu&, CpuRuntime&);

}  // namespace gaze::detail
