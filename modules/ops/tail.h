// How a residual block ends: what an op at its end may do in the same pass over memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace gaze::ops {

// output = relu(y + residual), each part only where it is asked for; y is the op's own result.
struct Tail {
  at::Tensor residual;  // shape, dtype and device of y, any strides; undefined for none
  bool relu = false;
};

}  // namespace gaze::ops
