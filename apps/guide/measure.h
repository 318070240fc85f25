// Time and memory of a piece of work, for the programs of the guide.
#pragma once

#include <algorithm>
#include <chrono>

#include "tests/support/counted_memory.h"

namespace guide {

struct Measured {
  double milliseconds;
  double megabytes;  // 2^20 bytes, the most that lived at once beside what lived before; the result is in it
};

// Runs work twice; the faster run counts. What it returns lives until its memory has been counted.
template <typename Work>
Measured measure(const Work& work) {
  Measured measured{1e300, 0};
  for (int run = 0; run < 2; ++run) {
    const gaze::test::CountedMemory memory;
    const auto start = std::chrono::steady_clock::now();
    const auto result = work();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    measured.milliseconds = std::min(measured.milliseconds, time.count());
    measured.megabytes = static_cast<double>(memory.peak()) / (1 << 20);
  }
  return measured;
}

}  // namespace guide
