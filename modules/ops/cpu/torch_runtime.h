// CpuRuntime on LibTorch's threads and its CPU allocator.
#pragma once

#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>

#include <vector>

#include "modules/ops/cpu/cpu_runtime.h"

namespace gaze::detail {

class TorchRuntime final : public CpuRuntime {
 private:
  void run(int64_t count, Range range, const void* context) const override {
    at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) { range(context, begin, end); });
  }

  void* allocate(int64_t bytes) override {
    memory_.push_back(c10::GetCPUAllocator()->allocate(static_cast<size_t>(bytes)));
    return memory_.back().get();
  }

  std::vector<c10::DataPtr> memory_;
};

}  // namespace gaze::detail
