// Scaled dot-product attention whose weights can be read (Vaswani et al. 2017).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "modules/ops/max_error.h"

namespace gaze::ops {

// Which weights to return beside the output.
enum class AttendWeights {
  none,
  per_head,   // [B, N, T, S]
  head_mean,  // [B, T, S], their mean over heads
  rows,       // [B, N, R, S], those of AttendOptions::rows
};

struct AttendOptions {
  std::optional<double> scale;  // of q·k; 1/√D unless given
  bool causal = false;  // query t sees keys s <= t + S - T: the last query sees every key, so a cache works
  AttendWeights weights = AttendWeights::none;
  std::vector<int64_t> rows = {};  // of AttendWeights::rows: R different queries, each in 0 .. T-1
  bool key_sums = false;           // return how much each key is looked at
  bool entropy = false;            // return how widely each query looks

  at::Tensor key_mask = {};  // [B, S] bool, true where a key may be looked at
  at::Tensor bias = {};      // floating, broadcastable to [B, N, T, S], added to the scores

  // Relative positions (Shaw et al. 2018, the bias alone as in Raffel et al. 2020): [N or 1, 2L-1], entry
  // L-1+j for a query j places behind its key, j = t + S - T - s clipped to -(L-1) .. L-1.
  at::Tensor relative = {};
  bool relative_inside = false;  // added to q·k before the scaling, not after it

  // Decomposed 2-D bias (Li et al. 2022, MViTv2) of keys that lie on a grid, S = rows · columns, key s in row
  // s / columns: row_bias [B, N, T, rows] and column_bias [B, N, T, columns], both or neither, broadcastable
  // in B, N, T.
  at::Tensor row_bias = {}, column_bias = {};

  // Of the weights on their way to the output: each becomes 0 with this probability, the others grow by
  // 1/(1 - dropout). The same `seed` drops the same weights on every device and for any number of threads.
  double dropout = 0;
  int64_t seed = 0;
};

// Statistics are float32 (float64 for float64 inputs) and are those before dropout.
struct Attended {
  at::Tensor output;       // [B, N, T, V], dtype of q
  at::Tensor weights;      // as AttendWeights says; undefined for none
  at::Tensor log_sum_exp;  // [B, N, T], natural, of the masked scores; -inf for a query without a key
  at::Tensor key_sums;     // [B, N, S], the weights summed over queries; undefined unless asked for
  at::Tensor entropy;      // [B, N, T] nats, 0 for a query without a key; undefined unless asked for
};

// output = dropout(weights) · v,   weights = softmax over S of (scale · q · kᵀ + biases), masked
//
//   q [B, N, T, D], k [B, N, S, D], v [B, N, S, V]
//     float64, float32, bfloat16 or float16; one dtype, one device
//   mask, broadcastable to [B, N, T, S]
//     bool, true where a query may look; or floating, added to the scores
//   -> output [B, N, T, V] and what was asked for
//
// Masks and biases combine freely; a key is looked at where all of them allow it. A query that may look at no
// key (all masked, or S = 0) gets zeros in output and weights. A masked key's value still meets its weight of
// 0, so that it has to be finite. Scores, softmax (the row's maximum subtracted)
// and sums are float32 or wider. On CPU no [T, S] matrix is kept but the weights asked for, neither forward
// nor backward: scores are made again from log_sum_exp (Dao et al. 2022); the gradient of `bias` is one, too.
// Gradients flow to q, k, v and every floating mask or bias, from output and from all that was asked for;
// backward is deterministic and once differentiable. Throws ArgumentError for shapes, dtypes or devices that
// do not fit. Dispatcher: gaze::attend, whose argument weights is 0 (none), 1 (per_head), 2 (head_mean) or 3
// (rows).
Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask = {},
                const AttendOptions& options = {});

// For scores of magnitude up to 30 and any S up to 4096.
inline constexpr MaxError kAttendMaxError{1e-13, 5e-6, 1e-2, 2e-3};

}  // namespace gaze::ops
