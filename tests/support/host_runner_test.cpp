#include "tests/support/host_runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/throws_with.h"

namespace gaze::test {
namespace {

using ::gaze::detail::Grid;
using ::gaze::detail::Pack;

constexpr int kThreads = 64;
constexpr Grid kGrid{2, kThreads, kThreads * 4};

// What a body below may get wrong.
enum class Bug {
  none,
  missing_barrier,
  shared_off_by_one,
  global_off_by_one,
  uninitialised_shared,
  early_exit,
  two_barriers,
  unwritten_output,
  shared_over_budget,
};

// out[block] = sum of in[block * kThreads + thread]: a tree in shared memory.
struct Sum {
  CheckedPointer<const float> in;
  CheckedPointer<float> out;
  Bug bug = Bug::none;

  void operator()(HostThread& t) const {
    auto sums = t.shared<float>("sums", bug == Bug::shared_over_budget ? kThreads + 1 : kThreads);
    const int64_t own = t.block() * kThreads + t.thread() + (bug == Bug::global_off_by_one ? 1 : 0);
    if (bug == Bug::early_exit && t.thread() >= 32) return;
    if (bug != Bug::uninitialised_shared || t.thread() != 5) {
      sums[t.thread() + (bug == Bug::shared_off_by_one ? 1 : 0)] = in[own];
    }
    for (int half = kThreads / 2; half >= 1; half /= 2) {
      if (bug != Bug::missing_barrier) barrier_line = __LINE__, t.sync();
      if (t.thread() < half) sums[t.thread()] += sums[t.thread() + half];
    }
    if (bug == Bug::two_barriers) {
      if (t.thread() < 32) {
        t.sync();
      } else {
        t.sync();
      }
    }
    if (t.thread() == 0 && bug != Bug::unwritten_output) out[t.block()] = sums[0];
  }

  static inline int barrier_line = 0;
};

std::vector<float> counted(int64_t count) {
  std::vector<float> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<float>(i));
  return result;
}

std::vector<float> sum_with(Bug bug, Order order = Order::forward) {
  const GlobalBuffer<float> in("in", counted(2 * kThreads)), out("out", 2);
  run_grid(kGrid, Sum{in.read_only(), out.pointer(), bug}, order);
  return out.values();
}

TEST(HostRunner, runs_every_thread_of_every_block) {
  for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
    EXPECT_EQ(sum_with(Bug::none, order), (std::vector<float>{63 * 64 / 2, 63 * 64 / 2 + 64 * 64}));
  }
}

TEST(HostRunner, catches_a_missing_barrier) {
  EXPECT_THROWS_WITH(
      sum_with(Bug::missing_barrier, Order::backward), HostRunnerError,
      "shared memory \"sums\": thread 31 of block 1 reads element 63, which thread 63 of block 1 "
      "wrote; no barrier lies between");
}

TEST(HostRunner, catches_an_off_by_one_in_shared_memory) {
  EXPECT_THROWS_WITH(sum_with(Bug::shared_off_by_one), HostRunnerError,
                     "shared memory \"sums\": thread 63 of block 0 writes element 64, but it has 64");
}

TEST(HostRunner, catches_an_off_by_one_in_global_memory) {
  EXPECT_THROWS_WITH(sum_with(Bug::global_off_by_one), HostRunnerError,
                     "global memory \"in\": thread 63 of block 1 reads element 128, but it has 128");
}

TEST(HostRunner, catches_a_read_of_what_nobody_wrote) {
  EXPECT_THROWS_WITH(sum_with(Bug::uninitialised_shared), HostRunnerError,
                     "shared memory \"sums\": thread 5 of block 0 reads element 5, which nobody has written");
  EXPECT_THROWS_WITH(sum_with(Bug::unwritten_output), HostRunnerError,
                     "global memory \"out\": the test reads element 0, which nobody has written");
}

TEST(HostRunner, catches_divergent_barriers) {
  const auto caught = [](Bug bug) {
    try {
      sum_with(bug);
    } catch (const HostRunnerError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(caught(Bug::early_exit),
            fmt::format("divergent barrier: thread 0 of block 0 waits at the barrier at "
                        "host_runner_test.cpp:{} while thread 32 of block 0 has ended",
                        Sum::barrier_line));
  EXPECT_EQ(
      caught(Bug::two_barriers),
      fmt::format("divergent barrier: thread 0 of block 0 waits at the barrier at host_runner_test.cpp:{} "
                  "while thread 32 of block 0 waits at the barrier at host_runner_test.cpp:{}",
                  Sum::barrier_line + 5, Sum::barrier_line + 7));
}

TEST(HostRunner, catches_more_shared_memory_than_the_launch_has) {
  EXPECT_THROWS_WITH(sum_with(Bug::shared_over_budget), HostRunnerError,
                     "shared memory \"sums\": ends at byte 272, but the launch gives 256");
}

// Each thread writes what `of` gives it.
template <class F>
std::vector<int> each_thread(int threads, F of) {
  const GlobalBuffer<int> out("out", threads);
  const auto pointer = out.pointer();
  run_grid({1, threads, 0}, [&](HostThread& t) { pointer[t.thread()] = of(t); });
  return out.values();
}

TEST(HostRunner, shuffles_within_a_warp) {
  const auto got = each_thread(64, [](HostThread& t) {
    const int value = t.thread() * 10;
    return t.shuffle(value, 3) + t.shuffle_xor(value, 1) * 1000 + t.shuffle_down(value, 30) * 1000000;
  });
  EXPECT_EQ(got[0], 30 + 10 * 1000 + 300 * 1000000);
  EXPECT_EQ(got[1], 30 + 0 * 1000 + 310 * 1000000);
  EXPECT_EQ(got[2], 30 + 30 * 1000 + 20 * 1000000);  // past the warp: its own
  EXPECT_EQ(got[32], 350 + 330 * 1000 + 620 * 1000000);
}

TEST(HostRunner, lets_part_of_a_warp_exchange) {
  const auto got = each_thread(32, [](HostThread& t) {
    if (t.lane() < 4) return static_cast<int>(t.ballot(t.lane() % 2 == 1, 0xF));
    return t.shuffle(t.lane(), 7, 0xFFFFFFF0);
  });
  EXPECT_EQ(got[0], 0b1010);
  EXPECT_EQ(got[3], 0b1010);
  EXPECT_EQ(got[4], 7);
  EXPECT_EQ(got[31], 7);
}

TEST(HostRunner, catches_wrong_lanes) {
  const auto with = [](int threads, int lane, unsigned mask) {
    each_thread(threads, [&](HostThread& t) { return t.shuffle(1, lane, mask, "kernel.cuh", 8); });
  };
  EXPECT_THROWS_WITH(with(32, 32, ~0U), HostRunnerError,
                     "shuffle at kernel.cuh:8: lane 0 of warp 0 of block 0 takes from lane 32");
  EXPECT_THROWS_WITH(
      with(32, 9, 0xFF), HostRunnerError,
      "shuffle at kernel.cuh:8: lane 0 of warp 0 of block 0 takes from lane 9, which is not in the mask");
  EXPECT_THROWS_WITH(with(32, 0, 0xFF), HostRunnerError,
                     "shuffle at kernel.cuh:8: lane 8 of warp 0 of block 0 is not in its own mask");
  EXPECT_THROWS_WITH(
      with(48, 0, ~0U), HostRunnerError,
      "shuffle at kernel.cuh:8: lane 0 of warp 1 of block 0 names lane 16 in its mask, which the "
      "block does not have");
}

TEST(HostRunner, catches_lanes_that_never_come) {
  const auto halves = [](bool ends) {
    each_thread(32, [&](HostThread& t) {
      if (t.lane() >= 16) {
        if (!ends) t.sync("kernel.cuh", 5);
        return 0;
      }
      return t.shuffle_xor(1, 1, ~0U, "kernel.cuh", 8);
    });
  };
  EXPECT_THROWS_WITH(
      halves(true), HostRunnerError,
      "shuffle_xor: thread 0 of block 0 waits at kernel.cuh:8 with mask 0xffffffff while thread 16 "
      "of block 0 has ended");
  EXPECT_THROWS_WITH(
      halves(false), HostRunnerError,
      "shuffle_xor: thread 0 of block 0 waits at kernel.cuh:8 with mask 0xffffffff while thread 16 "
      "of block 0 waits at the barrier at kernel.cuh:5");
}

TEST(HostRunner, catches_threads_and_blocks_that_write_one_place) {
  const auto write = [](Grid grid, bool same) {
    const GlobalBuffer<int> out("out", 64);
    const auto pointer = out.pointer();
    run_grid(grid, [&](HostThread& t) { pointer[same ? 7 : t.thread()] = 1; });
  };
  EXPECT_THROWS_WITH(
      write({1, 32, 0}, true), HostRunnerError,
      "global memory \"out\": thread 1 of block 0 writes element 7, which thread 0 of block 0 wrote; "
      "no barrier lies between");
  EXPECT_THROWS_WITH(
      write({2, 64, 0}, false), HostRunnerError,
      "global memory \"out\": thread 0 of block 1 writes element 0, which thread 0 of block 0 wrote; "
      "blocks have no order");
}

TEST(HostRunner, catches_a_write_after_other_threads_have_read) {
  const GlobalBuffer<int> place("place", std::vector<int>{5});
  const auto pointer = place.pointer();
  const auto body = [&](HostThread& t) {
    const int seen = pointer[0];
    if (t.thread() == 31) pointer[0] = seen + 1;
  };
  EXPECT_THROWS_WITH(
      run_grid({1, 32, 0}, body), HostRunnerError,
      "global memory \"place\": thread 31 of block 0 writes element 0, which thread 30 of block 0 "
      "read; no barrier lies between");
  const auto blocks = [&](HostThread& t) {
    const int seen = pointer[0];
    t.sync();
    if (t.block() == 1 && t.thread() == 0) pointer[0] = seen + 1;
  };
  EXPECT_THROWS_WITH(
      run_grid({2, 32, 0}, blocks), HostRunnerError,
      "global memory \"place\": thread 0 of block 1 writes element 0, which block 0 read; blocks have "
      "no order");
}

TEST(HostRunner, orders_launches) {
  const GlobalBuffer<int> a("a", 32), b("b", 32);
  const auto a_pointer = a.pointer(), b_pointer = b.pointer();
  run_grid({1, 32, 0}, [&](HostThread& t) { a_pointer[t.thread()] = t.thread(); });
  run_grid({1, 32, 0}, [&](HostThread& t) { b_pointer[t.thread()] = a_pointer[31 - t.thread()]; });
  EXPECT_EQ(b.values()[0], 31);
}

TEST(HostRunner, moves_packs_only_where_they_are_aligned) {
  const GlobalBuffer<float> in("in", counted(8)), out("out", 8);
  const auto from = in.read_only();
  const auto to = out.pointer();
  const auto move = [&](int64_t first) {
    run_grid({1, 1, 0}, [&](HostThread&) {
      Pack<float, 4> pack = HostThread::load<4>(from, first);
      pack.at[1] += 0.5F;
      HostThread::store<4>(to, first, pack);
    });
  };
  move(0);
  move(4);
  EXPECT_EQ(out.values(), (std::vector<float>{0, 1.5, 2, 3, 4, 5.5, 6, 7}));
  EXPECT_THROWS_WITH(
      move(2), HostRunnerError,
      "global memory \"in\": thread 0 of block 0 reads element 2 as the first of 4, which is not "
      "aligned to them");
  EXPECT_THROWS_WITH(move(8), HostRunnerError,
                     "global memory \"in\": thread 0 of block 0 reads element 8, but it has 8");
}

TEST(HostRunner, catches_threads_that_lay_out_shared_memory_differently) {
  EXPECT_THROWS_WITH(
      run_grid({1, 32, 256}, [](HostThread& t) { t.shared<float>("a", t.thread() < 3 ? 8 : 4); }),
      HostRunnerError, "shared memory \"a\": thread 3 of block 0 lays it out unlike the threads before it");
}

TEST(HostRunner, catches_null_pointers) {
  const CheckedPointer<float> none;
  EXPECT_FALSE(none);
  EXPECT_THROWS_WITH(run_grid({1, 32, 0}, [&](HostThread&) { none[0] = 1; }), HostRunnerError,
                     "a null pointer is read or written");
}

}  // namespace
}  // namespace gaze::test
