// While it lives, the CPU memory that LibTorch hands out is counted.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

namespace gaze::test {

class CountedMemory {
 public:
  CountedMemory() { c10::SetCPUAllocator(&allocator_, kPriority); }
  ~CountedMemory() { c10::SetCPUAllocator(allocator_.inner, kPriority); }
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  // Bytes that live, of those handed out since the start; and the most at once, since then or reset_peak().
  int64_t current() const { return allocator_.counts->live; }
  int64_t peak() const { return allocator_.counts->peak; }
  void reset_peak() { allocator_.counts->peak = current(); }

 private:
  static constexpr uint8_t kPriority = 100;

  struct Counts {
    std::atomic<int64_t> live{0}, peak{0};
  };

  // Memory may outlive the counting.
  struct Block {
    c10::DataPtr memory;
    int64_t bytes;
    std::shared_ptr<Counts> counts;
  };

  struct Counting final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override {
      auto* const block = new Block{inner->allocate(bytes), static_cast<int64_t>(bytes), counts};
      const int64_t live = counts->live += block->bytes;
      for (int64_t peak = counts->peak; peak < live && !counts->peak.compare_exchange_weak(peak, live);) {
      }
      return {block->memory.get(), block, release, c10::Device(c10::kCPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }  // data and context differ
    void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

    static void release(void* context) {
      const std::unique_ptr<Block> block(static_cast<Block*>(context));
      block->counts->live -= block->bytes;
    }

    c10::Allocator* inner = c10::GetCPUAllocator();
    std::shared_ptr<Counts> counts = std::make_shared<Counts>();
  };

  Counting allocator_;
};

}  // namespace gaze::test
