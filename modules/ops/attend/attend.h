// Scaled dot-product attention whose weights can be read (Vaswani et al. 2017).
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "modules/ops/max_error.h"

namespace gaze::ops {

// Which weights to return beside the output.
enum class AttendWeights {
  none,
  per_head,   // [B, N, T, S]
  head_mean,  // [B, T, S], their mean over heads
};

struct AttendOptions {
  std::optional<double> scale;  // of q·k; 1/√D unless given
  bool causal = false;  // query t sees keys s <= t + S - T: the last query sees every key, so a cache works
  AttendWeights weights = AttendWeights::none;
};

struct Attended {
  at::Tensor output;   // [B, N, T, V], dtype of q
  at::Tensor weights;  // as AttendWeights says, float32 (float64 for float64 inputs); undefined for none
};

// output = weights · v,   weights = softmax over S of (scale · q · kᵀ + mask)
//
//   q [B, N, T, D], k [B, N, S, D], v [B, N, S, V]
//     float64, float32, bfloat16 or float16; one dtype, one device
//   mask, broadcastable to [B, N, T, S]
//     bool, true where a query may look; or floating, added to the scores
//   -> output [B, N, T, V], weights [B, N, T, S] or their mean over heads [B, T, S]
//
// A query that may look at no key (all masked, or S = 0) gets zeros in both. Scores, softmax (the row's
// maximum subtracted) and sums are float32 or wider. Gradients flow to q, k, v and a floating mask, from
// output and from weights; backward is deterministic and once differentiable. Throws ArgumentError for
// shapes, dtypes or devices that do not fit. Dispatcher: gaze::attend, whose argument weights is 0 (none),
// 1 (per_head) or 2 (head_mean), and which also returns the natural log-sum-exp of the scores [B, N, T].
Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask = {},
                const AttendOptions& options = {});

// For scores of magnitude up to 30 and any S up to 4096.
inline constexpr MaxError kAttendMaxError{1e-13, 5e-6, 1e-2, 2e-3};

}  // namespace gaze::ops
