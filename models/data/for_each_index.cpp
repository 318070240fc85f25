#include "models/data/for_each_index.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gaze::models {

void for_each_index(int64_t count, int64_t threads, const std::function<void(int64_t)>& body,
                    const std::function<void(int64_t)>& done) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&](bool tells) {
    try {
      for (int64_t i = next++; i < count; i = next++) {
        body(i);
        if (tells && done) done(std::min(count, next.load()));
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (int64_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(work, false);
  work(true);
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gaze::models
