// linear on the CPU, compiled once per instruction set.
#include "modules/ops/linear/linear_cpu_kernel.h"

#include "modules/ops/cpu/dense.h"

namespace gaze::detail {
namespace {

template <typename A>
void linear_of(const LinearCpu& p, const CpuRuntime& run) {
  dense(run, static_cast<const A*>(p.weight), static_cast<const A*>(p.x), static_cast<A*>(p.y), p.rows,
        p.outputs, p.inputs, static_cast<const A*>(p.bias));
}

}  // namespace

void GAZE_CPU_NAME(linear_rows)(const LinearCpu& p, const CpuRuntime& run) {
  if (p.type == CpuType::float64) return linear_of<double>(p, run);
  linear_of<float>(p, run);
}

}  // namespace gaze::detail
