// The type of numbers as the CUDA launchers, which know no torch, are told it.
#pragma once

namespace gaze::detail {

enum class CudaType { float64, float32, bfloat16, float16 };

}  // namespace gaze::detail
