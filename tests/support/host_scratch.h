// Scratch arrays for a kernel in the host runner; the twin of DeviceScratch.
#pragma once

#include <memory>
#include <vector>

#include "tests/support/checked_memory.h"

namespace gaze::test {

class HostScratch {
 public:
  template <class T>
  CheckedPointer<T> array(const char* name, int64_t count) {
    auto buffer = std::make_shared<GlobalBuffer<T>>(name, count);
    buffers_.push_back(buffer);
    return buffer->pointer();
  }

 private:
  std::vector<std::shared_ptr<void>> buffers_;
};

}  // namespace gaze::test
