// Channel gate and spatial gate one after the other, all of CBAM (Woo et al. 2018), in one op.
#pragma once

#include <ATen/core/Tensor.h>

#include "modules/ops/spatial_gate/spatial_gate.h"
#include "modules/ops/squeeze_excite/squeeze_excite.h"
#include "modules/ops/tail.h"

namespace gaze::ops {

struct ChannelSpatialGated {
  at::Tensor output;        // [B, C, H, W], dtype and memory format of x
  at::Tensor channel_gate;  // [B, C]; float32 (float64 for float64 inputs), as the others
  at::Tensor gate;          // [B, H, W], the spatial one
  at::Tensor mean;          // [1], the statistics that the norm used; undefined without a norm
  at::Tensor variance;      // [1], biased
};

// channel_gate = channel_gate(x, channel, pool, mix)
// output, gate = spatial_gate(x, spatial, mix, tail, channel_gate)
//
// Arguments, results and errors are those of these two, and so are the numbers, bit for bit. Where no
// gradient is asked for, the CPU takes each group of pictures through both while its cache holds them, so
// that x is read from memory once. Dispatcher: gaze::channel_spatial_gate.
ChannelSpatialGated channel_spatial_gate(const at::Tensor& x, const SqueezeExciteWeights& channel,
                                         const SpatialGateWeights& spatial, Pool pool = Pool::avg_max,
                                         const at::Tensor& mix = {}, const Tail& tail = {});

}  // namespace gaze::ops
