// spatial_gate on the CPU, compiled once per instruction set.
#include "modules/ops/spatial_gate/spatial_gate_cpu_kernel.h"

#include "modules/ops/spatial_gate/spatial_gate_cpu_passes.h"

namespace gaze::detail {

void GAZE_CPU_NAME(spatial_gate_forward)(SpatialGateCpu& p, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    SpatialGate<T, typename Accumulator<T>::type>(p, run).forward();
  });
}

void GAZE_CPU_NAME(spatial_gate_backward)(SpatialGateCpu& p, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    SpatialGate<T, typename Accumulator<T>::type>(p, run).backward();
  });
}

}  // namespace gaze::detail
