// CpuRuntime on LibTorch's threads and its CPU allocator.
#pragma once

#include <c10/core/Allocator.h>

#include <vector>

#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

class TorchRuntime final : public CpuRuntime {
 private:
  void run(int64_t count, Range range, const void* context) const override;
  void* allocate(int64_t bytes) override;

  std::vector<c10::DataPtr> memory_;
};

}  // namespace gaze::detail
