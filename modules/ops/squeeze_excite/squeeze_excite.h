// Channel gate: one factor a channel, computed from the whole map. SE (Hu et al. 2018), and CBAM's channel
// half (Woo et al. 2018).
#pragma once

#include <ATen/core/Tensor.h>

#include "modules/ops/max_error.h"
#include "modules/ops/tail.h"

namespace gaze::ops {

// What a channel's map is squeezed to before the two layers.
enum class Pool {
  avg,      // its mean (SE)
  avg_max,  // its mean and its maximum, each through the two layers, the results added (CBAM)
};

struct SqueezeExciteWeights {
  at::Tensor w1;  // [R, C]
  at::Tensor b1;  // [R] or undefined
  at::Tensor w2;  // [C, R]
  at::Tensor b2;  // [C] or undefined
};

struct SqueezeExcited {
  at::Tensor output;  // [B, C, H, W], dtype and memory format of x
  at::Tensor gate;    // [B, C], what x was multiplied with; float32 (float64 for float64 inputs)
};

// excite(z) = w2 · relu(w1 · z + b1) + b2
// g         = sigmoid(excite(mean of x over H, W))                                    Pool::avg
//           = sigmoid(excite(mean of x over H, W) + excite(maximum of x over H, W))   Pool::avg_max
// gate      = g, or 1 + mix · (g - 1) where `mix` is given
// output    = x · gate, or relu(x · gate + residual) with those parts of `tail` that are asked for
//
//   x [B, C, H, W] with C, H, W >= 1, NCHW or channels-last; B = 0 is fine
//     float64, float32, bfloat16 or float16
//   weights as above, mix [] or undefined, residual [B, C, H, W] or undefined
//     dtype and device of x
//   -> output [B, C, H, W], gate [B, C]
//
// With mix = 0 the output is bit-equal to x, or to relu(x + residual). Everything between x and output is
// float32 or wider. Gradients flow to x, the weights, mix and residual, from output and from gate; the
// maximum's goes to the first of equal cells in row-major order, the ReLU's to where output > 0. Backward is
// deterministic and once differentiable. Throws ArgumentError for shapes, dtypes or devices that do not fit.
// Dispatcher: gaze::squeeze_excite.
SqueezeExcited squeeze_excite(const at::Tensor& x, const SqueezeExciteWeights& weights, Pool pool = Pool::avg,
                              const at::Tensor& mix = {}, const Tail& tail = {});

// The gate alone, [B, C], for an op that multiplies with it later (spatial_gate): x is read and nothing of
// its size is written.
at::Tensor channel_gate(const at::Tensor& x, const SqueezeExciteWeights& weights, Pool pool = Pool::avg,
                        const at::Tensor& mix = {});

// For pre-activations of magnitude up to 30.
inline constexpr MaxError kSqueezeExciteMaxError{1e-13, 2e-6, 5e-3, 6e-4};

}  // namespace gaze::ops
