#include "modules/ops/squeeze_excite/squeeze_excite_cuda.h"

#include "modules/ops/cuda/for_cuda_type.cuh"
#include "modules/ops/cuda/launch.cuh"
#include "modules/ops/cuda/scratch.cuh"
#include "modules/ops/squeeze_excite/squeeze_excite_kernel.cuh"

namespace gaze::detail {
namespace {

template <class T>
using Kernel = SqueezeExciteKernel<DeviceMemory, T>;

template <class T, class Walk>
Kernel<T> kernel_of(const SqueezeExciteCuda& p) {
  using A = typename Kernel<T>::A;
  Kernel<T> kernel;
  kernel.map = Walk::split(p.B, p.C, p.HW, kMostThreads, p.processors);
  kernel.R = p.R;
  kernel.max_pool = p.max_pool;
  kernel.relu = p.relu;
  kernel.x = static_cast<const T*>(p.x);
  kernel.w1 = static_cast<const T*>(p.w1);
  kernel.b1 = static_cast<const T*>(p.b1);
  kernel.w2 = static_cast<const T*>(p.w2);
  kernel.b2 = static_cast<const T*>(p.b2);
  kernel.mix = static_cast<const T*>(p.mix);
  kernel.residual = static_cast<const T*>(p.residual);
  kernel.output = static_cast<T*>(p.output);
  kernel.gate = static_cast<A*>(p.gate);
  kernel.grad_output = static_cast<const T*>(p.grad_output);
  kernel.grad_gate = static_cast<const A*>(p.grad_gate);
  kernel.grad_x = static_cast<T*>(p.grad_x);
  kernel.grad_w1 = static_cast<T*>(p.grad_w1);
  kernel.grad_b1 = static_cast<T*>(p.grad_b1);
  kernel.grad_w2 = static_cast<T*>(p.grad_w2);
  kernel.grad_b2 = static_cast<T*>(p.grad_b2);
  kernel.grad_mix = static_cast<T*>(p.grad_mix);
  return kernel;
}

// body(T(), Walk*) for p's type and memory.
template <class Body>
auto for_type_and_walk(const SqueezeExciteCuda& p, const Body& body) {
  return for_cuda_type(p.type, [&](auto number) {
    using T = decltype(number);
    return for_walk<T>(p.channels_last, p.C, [&](auto* walk) { return body(number, walk); });
  });
}

}  // namespace

int64_t squeeze_excite_cuda_scratch(const SqueezeExciteCuda& p, bool backward) {
  return for_type_and_walk(p, [&](auto number, auto* walk) {
    auto kernel = kernel_of<decltype(number), std::remove_pointer_t<decltype(walk)>>(p);
    DeviceScratch scratch(nullptr);
    take_squeeze_excite_scratch(kernel, backward, scratch);
    return scratch.used();
  });
}

cudaError_t squeeze_excite_cuda_forward(const SqueezeExciteCuda& p) {
  return for_type_and_walk(p, [&](auto number, auto* walk) {
    using Walk = std::remove_pointer_t<decltype(walk)>;
    auto kernel = kernel_of<decltype(number), Walk>(p);
    DeviceScratch scratch(p.scratch);
    take_squeeze_excite_scratch(kernel, false, scratch);
    DeviceLauncher launch{p.stream};
    launch_squeeze_excite_forward<Walk>(launch, kernel);
    return launch.error;
  });
}

cudaError_t squeeze_excite_cuda_backward(const SqueezeExciteCuda& p) {
  return for_type_and_walk(p, [&](auto number, auto* walk) {
    using Walk = std::remove_pointer_t<decltype(walk)>;
    auto kernel = kernel_of<decltype(number), Walk>(p);
    DeviceScratch scratch(p.scratch);
    take_squeeze_excite_scratch(kernel, true, scratch);
    DeviceLauncher launch{p.stream};
    launch_squeeze_excite_backward<Walk>(launch, kernel);
    return launch.error;
  });
}

}  // namespace gaze::detail
