// Attention in which each query sees a window of keys around it: neighbourhood attention on a map (Hassani et
// al., Neighborhood Attention Transformer, CVPR 2023), dilated (Hassani and Shi, Dilated Neighborhood
// Attention Transformer, 2022), and local, banded or causal attention on a sequence (Beltagy et al.,
// Longformer, 2020). Work and memory are proportional to the window, not to the map.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "modules/ops/attend/attend.h"
#include "modules/ops/max_error.h"

namespace gaze::ops {

// What a query at x of an axis of length L sees: the keys x - dilation · before ... x + dilation · after, one
// in `dilation`. These all lie in the dilation group of x, the positions x mod dilation, + dilation ...
enum class WindowBorders {
  clipped,  // keys outside of [0, L) do not exist: a window at the border is smaller
  shifted,  // NATTEN's: the window is moved inwards, within its group, until all of its keys exist
};

struct Window {
  int64_t before = 0;    // keys ahead of the query, >= 0
  int64_t after = 0;     // keys behind it, >= 0
  int64_t dilation = 1;  // distance of two keys, >= 1
  WindowBorders borders = WindowBorders::clipped;

  int64_t size() const { return before + 1 + after; }

  // NATTEN's window of `size` keys; an even one has its extra key before the query. The axis must have at
  // least size · dilation positions, so that each group holds a whole window.
  static Window neighborhood(int64_t size, int64_t dilation = 1);
  // The query and `reach` keys on either side, clipped.
  static Window local(int64_t reach, int64_t dilation = 1);
  // The query, `before` keys before and `after` behind it, clipped.
  static Window banded(int64_t before, int64_t after, int64_t dilation = 1);
  // The query and the size - 1 keys before it, clipped.
  static Window causal(int64_t size, int64_t dilation = 1);
};

struct WindowAttendOptions {
  std::vector<Window> windows;                 // one an axis: of T, or of H and W
  std::optional<double> scale = std::nullopt;  // of q·k; 1/√D unless given
  AttendWeights weights = AttendWeights::none;
};

struct WindowAttended {
  at::Tensor output;   // [B, N, T, V] or [B, N, H, W, V], dtype of q
  at::Tensor weights;  // as options.weights says, float32 (float64 for float64 inputs); undefined for none
  at::Tensor log_sum_exp;  // natural, of the scores, [B, N, T] or [B, N, H, W], dtype of the weights
};

// output[t] = Σ weights[t, s] · v[s],   weights[t] = softmax over the window of t of (scale · q[t] · k[s])
//
//   q, k [B, N, T, D], v [B, N, T, V], one window; or q, k [B, N, H, W, D], v [B, N, H, W, V], two
//     float64, float32, bfloat16 or float16; one dtype, one device
//   -> output [B, N, T, V] or [B, N, H, W, V], log_sum_exp [B, N, T] or [B, N, H, W]
//      weights per head [B, N, T, S] or [B, N, H, W, S], their mean over heads without N;
//        S the product of the windows' sizes, row-major. Entry i of an axis is the window's i-th key: of a
//        clipped window that at x + dilation · (i - before), with weight 0 where it does not exist.
//
// Scores, softmax (the row's maximum subtracted) and sums are float32 or wider. Gradients flow to q, k and v
// from output and weights, none from log_sum_exp; backward is deterministic and once differentiable. Throws
// ArgumentError for shapes, dtypes, devices or windows that do not fit. Dispatcher: gaze::window_attend,
// which takes the windows as lists of before, after, dilation and shifted, and weights as 0 (none), 1
// (per_head) or 2 (head_mean).
WindowAttended window_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const WindowAttendOptions& options);

// For scores of magnitude up to 30 and windows of up to 4096 keys.
inline constexpr MaxError kWindowAttendMaxError{1e-13, 5e-6, 4e-3, 6e-4};

}  // namespace gaze::ops
