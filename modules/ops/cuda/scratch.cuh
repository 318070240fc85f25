// One block of device memory cut into arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "modules/ops/cuda/grid.h"

namespace gaze::detail {

// Without memory it only counts.
class DeviceScratch {
 public:
  explicit DeviceScratch(void* memory) : memory_(static_cast<std::byte*>(memory)) {}

  template <class T>
  T* array(const char*, int64_t count) {
    T* const result = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += array_bytes(count, sizeof(T));
    return result;
  }
  [[nodiscard]] int64_t used() const { return used_; }

 private:
  std::byte* memory_;
  int64_t used_ = 0;
};

}  // namespace gaze::detail
