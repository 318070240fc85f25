#include "models/data/for_each_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(ForEachIndex, each_index_once_on_any_number_of_threads) {
  for (const int64_t threads : {1, 3, 64}) {
    std::vector<std::atomic<int>> seen(50);
    int64_t told = 0;
    const auto body = [&](int64_t i) { ++seen[static_cast<size_t>(i)]; };
    for_each_index(50, threads, body, [&](int64_t done) {
      EXPECT_LE(told, done);
      EXPECT_LE(done, 50);
      told = done;
    });
    for (const auto& count : seen) EXPECT_EQ(count, 1) << threads << " threads";
  }
  for_each_index(0, 4, [](int64_t) { FAIL(); });
}

TEST(ForEachIndex, a_failure_stops_the_rest_and_is_thrown) {
  for (const int64_t threads : {1, 4}) {
    std::atomic<int> begun{0};
    const auto body = [&](int64_t i) {
      ++begun;
      if (i == 3) throw std::runtime_error("three");
    };
    EXPECT_THROWS_WITH(for_each_index(1'000'000, threads, body), std::runtime_error, "three");
    EXPECT_LT(begun, 1'000'000);
  }
}

}  // namespace
}  // namespace gaze::models
