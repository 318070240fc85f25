// The CPU kernels of attend as the op sees them. Includes no torch.
#pragma once

#include <cstdint>

#include "modules/ops/cpu/cpu_isa.h"
#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

// The three outer strides of a tensor [B, N, rows, width] whose rows are dense.
struct RowStrides {
  int64_t b, n, row;
};

// What is the same forward and backward. "A" is double for float64, else float.
struct AttendCpu {
  CpuType type;              // of q, k, v, output and their gradients
  int64_t B, N, T, S, D, V;  // dims.h
  const void *q, *k, *v;     // [B, N, T, D], [B, N, S, D], [B, N, S, V]
  RowStrides q_strides, k_strides, v_strides;

  // Masks and biases, each null where not given; strides are 0 where broadcast.
  const bool* mask;  // [B, N, T, S], true where a query may look
  int64_t mask_strides[4];
  const void* bias;  // A [B, N, T, S]
  int64_t bias_strides[4];
  const bool* key_mask;  // [B, S]
  int64_t key_mask_strides[2];
  const void* relative;                     // A [N or 1, entries], dense
  int64_t relative_entries, relative_head;  // stride of a head, 0 where all share
  const void *row_bias, *column_bias;       // A [B, N, T, grid_rows], [B, N, T, grid_columns], last dense
  RowStrides row_bias_strides, column_bias_strides;
  int64_t grid_rows, grid_columns;

  double scale;
  bool causal, relative_inside;
  double dropout;
  int64_t seed;

  const int64_t* row_places;  // [T]: place of each query among the rows whose weights are asked for, or null
  int64_t R;                  // how many there are
};

struct AttendCpuForward {
  void* output;       // [B, N, T, V], dense
  void* log_sum_exp;  // A [B, N, T]
  // Of a causal query only the keys it sees are written: the rest is zero before.
  void* weights;       // A [B, N, T, S], or [B, N, R, S] with row_places, or null
  void* mean_weights;  // A [B, T, S], or null
  void* key_sums;      // A [B, N, S], or null
  void* entropy;       // A [B, N, T], or null
};

struct AttendCpuBackward {
  const void* log_sum_exp;  // A [B, N, T]
  // Dense, null where nothing depends on what they are the gradients of.
  const void* output;              // [B, N, T, V]
  const void* of_sums;             // A [B, N, T], of the log-sum-exp
  const void* weights;             // A as in the forward pass
  const void* mean_weights;        // A [B, T, S]
  const void* key_sums;            // A [B, N, S]
  const void* entropy;             // A [B, N, T]
  void *grad_q, *grad_k, *grad_v;  // [B, N, T, D], [B, N, S, D], [B, N, S, V], dense
  // A, dense, or null
  void* grad_bias;                         // [B, N, T, S]; zero before where causal
  void* grad_relative;                     // [N or 1, entries]
  void *grad_row_bias, *grad_column_bias;  // [B, N, T, grid_rows], [B, N, T, grid_columns]
};

GAZE_CPU_KERNEL(void, attend_forward, const AttendCpu&, const AttendCpuForward&, CpuRuntime&);
GAZE_CPU_KERNEL(void, attend_backward, const AttendCpu&, const AttendCpuBackward&, CpuRuntime&);

}  // namespace gaze::detail
