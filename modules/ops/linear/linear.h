// Linear layers over few rows, as a decoder meets them word by word.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "modules/ops/max_error.h"

namespace gaze::ops {

inline constexpr int64_t kLinearRows = 64;

// y[.., n] = sum over k of x[.., k] · weight[n, k] + bias[n]
//
//   x [..., K], weight [N, K], bias [N] or undefined -> y [..., N]
//     floating, one dtype, one device
//
// at::linear, but for float64 and float32 on the CPU, up to kLinearRows rows, no gradient wanted: then the
// weights are read once, as they lie, where LibTorch's libraries pack them first; and for K a multiple of 16
// a row's numbers depend neither on the other rows nor on the threads. It has no name in the dispatcher, so
// that exporters see at::linear. Throws ArgumentError for shapes, dtypes or devices that do not fit.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

// For numbers of magnitude up to 1 and K up to 4096; of the CPU's own kernel.
inline constexpr MaxError kLinearMaxError{1e-13, 1e-5, 0, 0};

}  // namespace gaze::ops
