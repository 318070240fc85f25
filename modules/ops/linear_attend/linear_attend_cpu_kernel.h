// The CPU kernels of linear_attend as the op sees them. Includes no torch.
#pragma once

#include <cstdint>

#include "modules/ops/cpu/cpu_isa.h"
#include "modules/ops/cpu/cpu_runtime.h"
#include "modules/ops/linear_attend/linear_attend_math.h"

namespace gaze::detail {

// A tensor [B, N, rows, width] whose rows are dense.
struct LinearAttendRows {
  const void* data;
  int64_t b, n, row;  // strides
};

struct LinearAttendCpu {
  CpuType type;  // of all tensors but the mask
  LinearAttendMap map;
  int64_t B, N, T, S, D, V;  // dims.h
  bool causal;
  int64_t lag;               // query t sees keys s <= t + lag, where causal
  LinearAttendRows q, k, v;  // [B, N, T, D], [B, N, S, D], [B, N, S, V]
  const bool* mask;          // [B, S], true where a key may be seen, or null
  int64_t mask_b, mask_s;    // its strides

  void* output;  // [B, N, T, V], dense; out in forward, unused in backward

  LinearAttendRows grad_output;    // [B, N, T, V]
  void *grad_q, *grad_k, *grad_v;  // of q, k, v, dense
};

GAZE_CPU_KERNEL(void, linear_attend_forward, const LinearAttendCpu&, CpuRuntime&);
GAZE_CPU_KERNEL(void, linear_attend_backward, const LinearAttendCpu&, CpuRuntime&);

}  // namespace gaze::detail
