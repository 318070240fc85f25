// squeeze_excite on the CPU, compiled once per instruction set.
#include "modules/ops/squeeze_excite/squeeze_excite_cpu_kernel.h"

#include "modules/ops/squeeze_excite/squeeze_excite_cpu_passes.h"

namespace gaze::detail {

void GAZE_CPU_NAME(squeeze_excite_forward)(const SqueezeExciteCpu& p, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    SqueezeExcite<T, typename Accumulator<T>::type>(p, run).forward();
  });
}

void GAZE_CPU_NAME(squeeze_excite_backward)(const SqueezeExciteCpu& p, CpuRuntime& run) {
  for_type(p.type, [&](auto number) {
    using T = decltype(number);
    SqueezeExcite<T, typename Accumulator<T>::type>(p, run).backward();
  });
}

}  // namespace gaze::detail
