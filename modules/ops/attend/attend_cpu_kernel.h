// The CPU kernel of attend as the op sees it. Includes no torch.
#pragma once

#include <cstdint>

#include "modules/ops/cpu/cpu_isa.h"
#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

// The three outer strides of a tensor [B, N, rows, width] whose rows are dense.
struct RowStrides {
  int64_t b, n, row;
};

// "A" is double for float64, else float.
struct AttendCpu {
  CpuType type;              // of q, k, v, output
  int64_t B, N, T, S, D, V;  // dims.h
  const void *q, *k, *v;     // [B, N, T, D], [B, N, S, D], [B, N, S, V]
  RowStrides q_strides, k_strides, v_strides;
  const bool* seen;         // [B, N, T, S], true where a query may look, or null
  const void* added;        // A [B, N, T, S], or null
  int64_t mask_strides[4];  // of either, 0 where broadcast
  double scale;
  bool causal;

  void* output;        // [B, N, T, V], dense
  void* weights;       // A [B, N, T, S], or null
  void* mean_weights;  // A [B, T, S], or null
  void* log_sum_exp;   // A [B, N, T]
};

GAZE_CPU_KERNEL(void, attend_forward, const AttendCpu&, CpuRuntime&);

}  // namespace gaze::detail
