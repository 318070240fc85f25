// channel_spatial_gate on the CPU, compiled once per instruction set: each group of pictures goes through
// both halves' passes while the cache holds it.
#include "modules/ops/channel_spatial_gate/channel_spatial_gate_cpu_kernel.h"

#include "modules/ops/spatial_gate/spatial_gate_cpu_passes.h"
#include "modules/ops/squeeze_excite/squeeze_excite_cpu_passes.h"

namespace gaze::detail {

void GAZE_CPU_NAME(channel_spatial_gate_forward)(ChannelSpatialGateCpu& p, CpuRuntime& run) {
  for_type(p.channel.type, [&](auto number) {
    using T = decltype(number);
    using A = typename Accumulator<T>::type;
    SqueezeExcite<T, A> channel(p.channel, run);
    SpatialGate<T, A> spatial(p.spatial, run);
    if (spatial.needs_all()) {
      channel.forward();
      spatial.forward();
      return;
    }
    spatial.prepare_forward();
    for (int64_t b0 = 0; b0 < p.channel.B; b0 += spatial.group()) {
      const int64_t n = smaller(spatial.group(), p.channel.B - b0);
      channel.forward(b0, n);
      spatial.forward(b0, n);
    }
  });
}

}  // namespace gaze::detail
