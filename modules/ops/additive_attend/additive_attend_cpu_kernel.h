// The CPU kernels of additive_attend as the op sees them. Includes no torch.
#pragma once

#include <cstdint>

#include "modules/ops/cpu/cpu_isa.h"
#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

// The two outer strides of a tensor [B, rows, width] whose rows are dense.
struct TokenStrides {
  int64_t b, row;
};

// "A" is double for float64, else float.
struct AdditiveInputs {
  CpuType type;                          // of query, key, v, values
  int64_t B, T, S, D, V;                 // dims.h
  const void *query, *key, *v, *values;  // [B, T, D], [B, S, D], [D] dense, [B, S, V]
  TokenStrides query_strides, key_strides, values_strides;
  const bool* seen;         // [B, T, S], true where a query may look, or null
  int64_t mask_strides[3];  // 0 where broadcast
};

// All dense.
struct AdditiveOutputs {
  void* context;      // [B, T, V]
  void* weights;      // A [B, T, S]
  void* log_sum_exp;  // A [B, T]
};

// All dense.
struct AdditiveGradients {
  const void* log_sum_exp;                     // A [B, T], of forward
  const void* context;                         // [B, T, V], or null: what reached backward
  const void* weights;                         // A [B, T, S], or null
  void *of_query, *of_key, *of_v, *of_values;  // the result
};

GAZE_CPU_KERNEL(void, additive_attend_forward, const AdditiveInputs&, const AdditiveOutputs&, CpuRuntime&);
GAZE_CPU_KERNEL(void, additive_attend_backward, const AdditiveInputs&, const AdditiveGradients&, CpuRuntime&);

}  // namespace gaze::detail
