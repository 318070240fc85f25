#include "modules/ops/cpu/torch_runtime.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace gaze::detail {
namespace {

// LibTorch's threads as this test wants them.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }

 private:
  int before_;
};

TEST(TorchRuntime, calls_each_index_once) {
  for (const int threads : {1, 2, 3}) {
    const Threads scope(threads);
    const TorchRuntime run;
    for (const int64_t count : {0, 1, 2, 3, 64, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      run.parallel(count, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
      for (const std::atomic<int>& of_index : calls) EXPECT_EQ(of_index, 1) << count << " on " << threads;
    }
  }
}

TEST(TorchRuntime, shares_the_work_among_threads) {
  const Threads scope(2);
  const TorchRuntime run;
  std::mutex mutex;
  std::set<std::thread::id> seen;
  run.parallel(8, [&](int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard<std::mutex> lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 2U);
}

TEST(TorchRuntime, stays_on_its_thread_inside_shared_work) {
  const Threads scope(2);
  const TorchRuntime run;
  std::atomic<int> elsewhere{0};
  run.parallel(2, [&](int64_t) {
    const std::thread::id mine = std::this_thread::get_id();
    run.parallel(8, [&](int64_t) { elsewhere += std::this_thread::get_id() != mine ? 1 : 0; });
  });
  EXPECT_EQ(elsewhere, 0);
}

TEST(TorchRuntime, memory_starts_on_a_cache_line) {
  TorchRuntime run;
  for (const int64_t count : {1, 3, 1000})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(run.scratch<float>(count)) % 64, 0U);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
// What the sanitizer is told of LibTorch's threads must not hide a race between pieces.
TEST(TorchRuntimeDeathTest, pieces_that_write_one_place_are_reported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Threads scope(2);
        const TorchRuntime run;
        int64_t last = 0;
        run.parallel(2, [&](int64_t i) {
          last = i;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        });
        std::exit(static_cast<int>(last - last));
      },
      ::testing::ExitedWithCode(66), "data race");
}
#endif
#endif

}  // namespace
}  // namespace gaze::detail
