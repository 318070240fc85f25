// What a CPU kernel needs from LibTorch, without LibTorch: the type of numbers, threads and memory.
#pragma once

#include <cstdint>

namespace gaze::detail {

enum class CpuType { float64, float32, bfloat16, float16 };

class CpuRuntime {
 public:
  virtual ~CpuRuntime() = default;

  // body(i) for each i in [0, count), on any thread, in any order.
  template <typename Body>
  void parallel(int64_t count, const Body& body) const {
    run(
        count,
        [](const void* context, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) (*static_cast<const Body*>(context))(i);
        },
        &body);
  }

  // The same on this thread where the work is too small to share.
  template <typename Body>
  void parallel_if(bool worth_it, int64_t count, const Body& body) const {
    if (worth_it) return parallel(count, body);
    for (int64_t i = 0; i < count; ++i) body(i);
  }

  // Uninitialised memory for `count` elements, 64-byte aligned, that lives as long as this object.
  template <typename T>
  T* scratch(int64_t count) {
    return static_cast<T*>(allocate(count * static_cast<int64_t>(sizeof(T))));
  }

 protected:
  using Range = void (*)(const void* context, int64_t begin, int64_t end);

 private:
  virtual void run(int64_t count, Range range, const void* context) const = 0;
  virtual void* allocate(int64_t bytes) = 0;
};

}  // namespace gaze::detail
