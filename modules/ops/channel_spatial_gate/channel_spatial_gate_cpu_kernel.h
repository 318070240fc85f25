// The CPU kernel of channel_spatial_gate as the op sees it. Includes no torch.
#pragma once

#include "modules/ops/spatial_gate/spatial_gate_cpu_kernel.h"
#include "modules/ops/squeeze_excite/squeeze_excite_cpu_kernel.h"

namespace gaze::detail {

// Both halves over one x; the channel half without an output, its gate being the spatial half's channel_gate.
struct ChannelSpatialGateCpu {
  SqueezeExciteCpu channel;
  SpatialGateCpu spatial;
};

GAZE_CPU_KERNEL(void, channel_spatial_gate_forward, ChannelSpatialGateCpu&, CpuRuntime&);

}  // namespace gaze::detail
