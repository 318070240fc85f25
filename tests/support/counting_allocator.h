// How much memory tensors and kernels' scratch take: LibTorch's CPU allocator, counted.
#pragma once

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gaze::test {

// While it lives, every allocation of LibTorch's CPU allocator is counted; one at a time. What was allocated
// before is not, nor is its release.
class CountingAllocator final : public c10::Allocator {
 public:
  CountingAllocator() : base_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, kPriority); }
  ~CountingAllocator() override { c10::SetCPUAllocator(base_, kPriority); }
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;

  int64_t current() const { return current_; }
  int64_t peak() const { return peak_; }  // bytes, since the start or reset_peak()
  void reset_peak() { peak_ = current_.load(); }

  c10::DataPtr allocate(size_t bytes) override {
    auto* const block = new Block{base_->allocate(bytes), static_cast<int64_t>(bytes), this};
    const int64_t now = current_ += block->bytes;
    int64_t before = peak_;
    while (before < now && !peak_.compare_exchange_weak(before, now)) {
    }
    return {block->memory.get(), block, release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  struct Block {
    c10::DataPtr memory;
    int64_t bytes;
    CountingAllocator* counter;
  };
  static constexpr uint8_t kPriority = 200;

  static void release(void* context) {
    auto* const block = static_cast<Block*>(context);
    block->counter->current_ -= block->bytes;
    delete block;
  }

  c10::Allocator* base_;
  std::atomic<int64_t> current_{0}, peak_{0};
};

}  // namespace gaze::test
