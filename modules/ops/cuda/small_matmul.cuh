// out(m, n) = sum over k of left(m, k) · right(k, n), for matrices too small for a library call to pay and
// with whatever has to happen on the way in and out. Sums are taken in one order, whatever the grid: the same
// bits every time.
#pragma once

#include "modules/core/host_device.h"
#include "modules/ops/cuda/map_walk.cuh"

namespace gaze::detail {

// A block makes kRows x kColumns results. Its warps share out the depth, a lane a column; their sums meet in
// shared memory.
//
// Task has   using Accumulator;  int64_t rows(), columns(), depth();
//            Accumulator left(m, k), right(k, n);  void store(m, n, Accumulator);
//            static constexpr bool kLeftAlongDepth, kRightAlongDepth: neighbours in memory differ in k
template <class Task>
struct SmallMatmul {
  static constexpr int kRows = 8, kColumns = 32, kDepth = 64;
  static constexpr int kLeftStride = kRows + 1, kRightStride = kColumns + 1;  // off the same bank
  using A = typename Task::Accumulator;

  Task task;

  [[nodiscard]] Grid grid(int threads) const {
    return {divide_up(task.rows(), kRows) * divide_up(task.columns(), kColumns), threads,
            array_bytes(kDepth * kLeftStride, sizeof(A)) + array_bytes(kDepth * kRightStride, sizeof(A)) +
                array_bytes(threads * kRows, sizeof(A))};
  }

  template <class Thread>
  GAZE_HOST_DEVICE void operator()(Thread& t) const {
    auto left = t.template shared<A>("left", kDepth * kLeftStride);     // [k, m]
    auto right = t.template shared<A>("right", kDepth * kRightStride);  // [k, n]
    auto sums = t.template shared<A>("sums", t.threads() * kRows);      // [warp, m, n]
    const int64_t across = (task.columns() + kColumns - 1) / kColumns;
    const int64_t m0 = t.block() / across * kRows, n0 = t.block() % across * kColumns;

    A sum[kRows] = {};
    for (int64_t k0 = 0; k0 < task.depth(); k0 += kDepth) {
      if (k0 > 0) t.sync();
      for (int i = t.thread(); i < kDepth * kRows; i += t.threads()) {
        const int k = Task::kLeftAlongDepth ? i % kDepth : i / kRows;
        const int m = Task::kLeftAlongDepth ? i / kDepth : i % kRows;
        const bool inside = m0 + m < task.rows() && k0 + k < task.depth();
        left[k * kLeftStride + m] = inside ? task.left(m0 + m, k0 + k) : A(0);
      }
      for (int i = t.thread(); i < kDepth * kColumns; i += t.threads()) {
        const int k = Task::kRightAlongDepth ? i % kDepth : i / kColumns;
        const int n = Task::kRightAlongDepth ? i / kDepth : i % kColumns;
        const bool inside = n0 + n < task.columns() && k0 + k < task.depth();
        right[k * kRightStride + n] = inside ? task.right(k0 + k, n0 + n) : A(0);
      }
      t.sync();
      for (int k = t.warp(); k < kDepth; k += t.warps()) {
        const A factor = right[k * kRightStride + t.lane()];
        for (int m = 0; m < kRows; ++m) sum[m] += static_cast<A>(left[k * kLeftStride + m]) * factor;
      }
    }
    for (int m = 0; m < kRows; ++m) sums[(t.warp() * kRows + m) * kColumns + t.lane()] = sum[m];
    t.sync();
    for (int i = t.thread(); i < kRows * kColumns; i += t.threads()) {
      const int64_t m = m0 + i / kColumns, n = n0 + i % kColumns;
      if (m >= task.rows() || n >= task.columns()) continue;
      A total = 0;
      for (int warp = 0; warp < t.warps(); ++warp) total += static_cast<A>(sums[warp * kRows * kColumns + i]);
      task.store(m, n, total);
    }
  }
};

template <class Launcher, class Task>
void launch_matmul(Launcher& launch, const Task& task, int threads) {
  const SmallMatmul<Task> matmul{task};
  launch(matmul.grid(threads), matmul);
}

}  // namespace gaze::detail
