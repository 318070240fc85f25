// Spatial gate: one factor a cell, from the maximum and the mean over channels. CBAM's spatial half (Woo et
// al. 2018).
#pragma once

#include <ATen/core/Tensor.h>

#include "modules/ops/max_error.h"
#include "modules/ops/tail.h"

namespace gaze::ops {

// Batch norm of the one pre-activation map; all [1]. Statistics that are undefined are taken from this batch.
struct SpatialNorm {
  at::Tensor scale;
  at::Tensor shift;
  at::Tensor mean;  // with variance, or neither
  at::Tensor variance;
  double eps = 1e-5;
};

struct SpatialGateWeights {
  at::Tensor weight;  // [1, 2, k, k], k odd; plane 0 meets the maximum, plane 1 the mean
  at::Tensor bias;    // [1] or undefined
  SpatialNorm norm;   // none where scale is undefined
};

struct SpatialGated {
  at::Tensor output;    // [B, C, H, W], dtype and memory format of x
  at::Tensor gate;      // [B, H, W], what u was multiplied with; float32 (float64 for float64 inputs)
  at::Tensor mean;      // [1], the statistics that the norm used, dtype of gate; undefined without a norm
  at::Tensor variance;  // [1], biased
};

// u      = x, or x · channel_gate (one factor a channel) where that is given: all of CBAM, and u is never
//          stored
// a      = conv([maximum of u over C; mean of u over C], weight), zero padding k/2, + bias     [B, 1, H, W]
// p      = a, or scale · (a - mean) / √(variance + eps) + shift with a norm
// gate   = sigmoid(p), or 1 + mix · (sigmoid(p) - 1) where `mix` is given
// output = u · gate, or relu(u · gate + residual) with those parts of `tail` that are asked for
//
//   x [B, C, H, W] with C, H, W >= 1, NCHW or channels-last; B = 0 is fine but for statistics of the batch
//     float64, float32, bfloat16 or float16
//   weights as above, mix [] or undefined, residual [B, C, H, W] or undefined
//     dtype and device of x
//   channel_gate [B, C] or undefined
//     float32 (float64 for float64 inputs), as ops::channel_gate returns it
//   -> output [B, C, H, W], gate [B, H, W]
//
// With mix = 0 the output is bit-equal to u, or to relu(u + residual). Everything between x and output is
// float32 or wider. Gradients flow to x, weight, bias, scale, shift, mix, channel_gate and residual, from
// output and from gate, and through statistics of the batch; the maximum's goes to the first of equal
// channels, the ReLU's to where output > 0. Backward is deterministic and once
// differentiable. Throws ArgumentError for shapes, dtypes or devices that do not fit.
// Dispatcher: gaze::spatial_gate.
SpatialGated spatial_gate(const at::Tensor& x, const SpatialGateWeights& weights, const at::Tensor& mix = {},
                          const Tail& tail = {}, const at::Tensor& channel_gate = {});

// For pre-activations of magnitude up to 30.
inline constexpr MaxError kSpatialGateMaxError{1e-13, 5e-6, 5e-3, 6e-4};

}  // namespace gaze::ops
