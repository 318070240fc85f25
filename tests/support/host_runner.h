// Runs the body of a CUDA kernel over a whole grid on the CPU, and watches it: each thread is a fibre that
// goes on at barriers and warp operations. Thrown as HostRunnerError, with names, indices and places:
//   - shared or global memory out of bounds, unaligned, read before it was written;
//   - two threads at one byte, one of them writing, with no barrier between; two blocks likewise;
//   - a barrier or a warp operation that some threads never reach, or reach at another line;
//   - a lane that is outside the warp, not in the mask, or not there;
//   - more shared memory than the launch asked for.
// It cannot show real timing, registers or speed. See modules/ops/cuda/thread_context.cuh for what a body may
// use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "modules/ops/cuda/grid.h"
#include "tests/support/checked_memory.h"

namespace gaze::test {

namespace detail {
class BlockRun;
}

// The memory of a body in the host runner.
struct HostMemory {
  template <class T>
  using Global = CheckedPointer<T>;
};

// What a body sees of its thread; the twin of DeviceThread.
class HostThread {
 public:
  using Memory = HostMemory;
  template <class T>
  using Shared = CheckedPointer<T>;

  [[nodiscard]] int64_t block() const { return moment_.block; }
  [[nodiscard]] int thread() const { return moment_.thread; }
  [[nodiscard]] int threads() const;
  [[nodiscard]] int lane() const { return moment_.thread % 32; }
  [[nodiscard]] int warp() const { return moment_.thread / 32; }
  [[nodiscard]] int warps() const { return threads() / 32; }

  void sync(const char* file = __builtin_FILE(), int line = __builtin_LINE());

  template <class T>
  T shuffle(T value, int lane, unsigned mask = ~0U, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
    return exchange("shuffle", value, lane, mask, file, line);
  }
  template <class T>
  T shuffle_xor(T value, int flip, unsigned mask = ~0U, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
    return exchange("shuffle_xor", value, lane() ^ flip, mask, file, line);
  }
  // Past the last lane: its own value.
  template <class T>
  T shuffle_down(T value, int distance, unsigned mask = ~0U, const char* file = __builtin_FILE(),
                 int line = __builtin_LINE()) {
    const int source = lane() + distance;
    return exchange("shuffle_down", value, source > 31 ? lane() : source, mask, file, line);
  }
  // The lanes of the mask for which `predicate` holds.
  unsigned ballot(bool predicate, unsigned mask = ~0U, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());

  template <class T>
  CheckedPointer<T> shared(const char* name, int64_t count) {
    return CheckedPointer<T>(shared_memory(name, count, sizeof(T)));
  }

  template <int N, class T>
  static auto load(const CheckedPointer<T>& pointer, int64_t index) {
    return pointer.template load<N>(index);
  }
  template <int N, class T>
  static void store(const CheckedPointer<T>& pointer, int64_t index, const ::gaze::detail::Pack<T, N>& pack) {
    pointer.template store<N>(index, pack);
  }

 private:
  friend class detail::BlockRun;

  template <class T>
  T exchange(const char* what, T value, int source, unsigned mask, const char* file, int line) {
    static_assert(sizeof(T) <= 16 && std::is_trivially_copyable_v<T>);
    exchange_bytes(what, &value, sizeof(T), source, mask, file, line);
    return value;
  }
  void exchange_bytes(const char* what, void* value, size_t size, int source, unsigned mask, const char* file,
                      int line);
  detail::WatchedMemory* shared_memory(const char* name, int64_t count, int64_t element_bytes);

  detail::BlockRun* run_ = nullptr;
  detail::Moment moment_;
  int64_t shared_used_ = 0;
  size_t shared_count_ = 0;
};

// In which order the threads of a block take their turns, and the blocks theirs. A correct kernel leaves the
// same bits in each.
enum class Order { forward, backward, shuffled };

void run_grid(const ::gaze::detail::Grid& grid, const std::function<void(HostThread&)>& body,
              Order order = Order::forward);

// What launches a kernel's grids, one after the other; the twin of DeviceLauncher.
struct HostLauncher {
  using Memory = HostMemory;
  Order order = Order::forward;

  template <class Body>
  void operator()(const ::gaze::detail::Grid& grid, const Body& body) const {
    run_grid(
        grid, [&](HostThread& thread) { body(thread); }, order);
  }
};

}  // namespace gaze::test
