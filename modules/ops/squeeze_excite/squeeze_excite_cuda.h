// squeeze_excite's CUDA launchers as the op sees them. Includes no torch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "modules/ops/cuda/cuda_type.h"

namespace gaze::detail {

// Device memory, dense; "A" is double for float64, else float. Maps are aligned to 16 bytes. B, C, HW, R >=
// 1, HW < 2^31. Null where an argument is not given or a result is not wanted.
struct SqueezeExciteCuda {
  CudaType type;        // of all but A
  bool channels_last;   // maps are [B, H*W, C] in memory, else [B, C, H*W]
  int64_t B, C, HW, R;  // dims.h
  const void* x;        // [B, C, HW]
  const void *w1, *b1;  // [R, C], [R]
  const void *w2, *b2;  // [C, R], [C]
  const void* mix;      // one number
  bool max_pool;
  int processors;  // of the device
  cudaStream_t stream;
  void* scratch;  // squeeze_excite_cuda_scratch() bytes, aligned to 16

  const void* residual;  // [B, C, HW]
  bool relu;
  void* output;  // [B, C, HW]
  void* gate;    // A [B, C]; forward alone

  const void* grad_output;  // [B, C, HW]
  const void* grad_gate;    // A [B, C]
  void* grad_x;             // [B, C, HW]
  void *grad_w1, *grad_b1;  // [R, C], [R]
  void *grad_w2, *grad_b2;  // [C, R], [C]
  void* grad_mix;           // one number
};

int64_t squeeze_excite_cuda_scratch(const SqueezeExciteCuda& p, bool backward);

// The first error of a launch.
cudaError_t squeeze_excite_cuda_forward(const SqueezeExciteCuda& p);
cudaError_t squeeze_excite_cuda_backward(const SqueezeExciteCuda& p);

}  // namespace gaze::detail
