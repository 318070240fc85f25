// Launches bodies on a stream.
#pragma once

#include "modules/ops/cuda/thread_context.cuh"

namespace gaze::detail {

inline constexpr int kMostThreads = 256;

template <class Body>
__global__ void __launch_bounds__(kMostThreads, 2) run_body(const Body body) {
  DeviceThread thread;
  body(thread);
}

// The first error stops what follows; `error` is for the caller's launch check.
struct DeviceLauncher {
  using Memory = DeviceMemory;
  cudaStream_t stream;
  cudaError_t error = cudaSuccess;

  template <class Body>
  void operator()(const Grid& grid, const Body& body) {
    if (error != cudaSuccess) return;
    if (grid.blocks < 1 || grid.blocks > 0x7fffffff || grid.threads > kMostThreads) {
      error = cudaErrorInvalidConfiguration;
      return;
    }
    run_body<<<static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.threads),
               static_cast<size_t>(grid.shared_bytes), stream>>>(body);
    error = cudaGetLastError();
  }
};

}  // namespace gaze::detail
