#include "tests/support/host_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>
#include <random>
#include <utility>

#include "tests/support/fibre.h"

namespace gaze::test {
namespace detail {
namespace {

// A line of a body.
struct Place {
  const char* file = "";
  int line = 0;
  bool operator==(const Place& other) const {
    return line == other.line && std::strcmp(file, other.file) == 0;
  }
};

std::string text(const Place& place) {
  const std::string file = place.file;
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), place.line);
}

// What a lane brings to a warp operation and takes from it.
struct Exchange {
  const char* what = "";
  Place place;
  unsigned mask = 0;
  int source = 0;  // the lane it takes from
  std::array<std::byte, 16> value{};
};

enum class State { ready, at_barrier, at_exchange, ended };

struct Slot {
  State state = State::ready;
  Place barrier;
  Exchange exchange;
  Fibre fibre;
  HostThread thread;
};

struct SharedArray {
  int64_t offset;
  std::unique_ptr<WatchedMemory> memory;
};

}  // namespace

// One block of a grid from start to end.
class BlockRun {
 public:
  BlockRun(const ::gaze::detail::Grid& grid, const std::function<void(HostThread&)>& body, int64_t launch)
      : grid_(grid), body_(body), launch_(launch), slots_(static_cast<size_t>(grid.threads)) {}

  // `turns` is the order of the threads.
  void run(int64_t block, const std::vector<int>& turns) {
    start(block);
    while (true) {
      for (const int thread : turns) go_on(slots_[static_cast<size_t>(thread)]);
      if (count(State::ended) == grid_.threads) return;
      const bool exchanged = complete_exchanges();
      if (!exchanged) complete_barrier();
    }
  }

  [[nodiscard]] int threads() const { return grid_.threads; }

  void wait_at_barrier(HostThread& thread, Place place) {
    Slot& slot = slot_of(thread);
    slot.state = State::at_barrier;
    slot.barrier = place;
    slot.fibre.suspend();
  }

  // Returns what the other lanes brought.
  std::array<Exchange, 32> wait_for_warp(HostThread& thread, const Exchange& exchange) {
    const auto fail = [&](const std::string& problem) {
      throw HostRunnerError(fmt::format("{} at {}: lane {} of warp {} of block {} {}", exchange.what,
                                        text(exchange.place), thread.lane(), thread.warp(), thread.block(),
                                        problem));
    };
    if (exchange.source < 0 || exchange.source > 31) fail(fmt::format("takes from lane {}", exchange.source));
    if ((exchange.mask >> thread.lane() & 1U) == 0) fail("is not in its own mask");
    if ((exchange.mask >> exchange.source & 1U) == 0) {
      fail(fmt::format("takes from lane {}, which is not in the mask", exchange.source));
    }
    for (int lane = 0; lane < 32; ++lane) {
      if ((exchange.mask >> lane & 1U) != 0 && thread.warp() * 32 + lane >= grid_.threads) {
        fail(fmt::format("names lane {} in its mask, which the block does not have", lane));
      }
    }
    Slot& slot = slot_of(thread);
    slot.state = State::at_exchange;
    slot.exchange = exchange;
    slot.fibre.suspend();
    return arrived_[static_cast<size_t>(thread.warp())];
  }

  WatchedMemory* shared_memory(HostThread& thread, const char* name, int64_t count, int64_t element_bytes) {
    const int64_t offset = thread.shared_used_;
    const int64_t end = offset + ::gaze::detail::array_bytes(count, element_bytes);
    if (end > grid_.shared_bytes) {
      throw HostRunnerError(fmt::format("shared memory \"{}\": ends at byte {}, but the launch gives {}",
                                        name, end, grid_.shared_bytes));
    }
    thread.shared_used_ = end;
    const size_t index = thread.shared_count_++;
    if (index == shared_.size()) {
      shared_.push_back({offset, std::make_unique<WatchedMemory>("shared", name, count, element_bytes)});
    }
    const SharedArray& array = shared_[index];
    if (array.offset != offset || array.memory->name() != name || array.memory->elements() != count) {
      throw HostRunnerError(
          fmt::format("shared memory \"{}\": thread {} of block {} lays it out unlike the threads before it",
                      name, thread.thread(), thread.block()));
    }
    return array.memory.get();
  }

 private:
  Slot& slot_of(const HostThread& thread) { return slots_[static_cast<size_t>(thread.thread())]; }

  [[nodiscard]] int count(State state) const {
    return static_cast<int>(
        std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.state == state; }));
  }

  void start(int64_t block) {
    shared_.clear();
    for (size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      slot.state = State::ready;
      slot.thread = HostThread();
      slot.thread.run_ = this;
      slot.thread.moment_ = {launch_, block, 0, static_cast<int>(i)};
      slot.fibre.start([this, &slot] {
        try {
          body_(slot.thread);
        } catch (...) {
          error_ = std::current_exception();
        }
        slot.state = State::ended;
      });
    }
    arrived_.assign((slots_.size() + 31) / 32, {});
  }

  void go_on(Slot& slot) {
    if (slot.state != State::ready) return;
    set_running_moment(&slot.thread.moment_);
    slot.fibre.resume();
    set_running_moment(nullptr);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  // Lets go every warp operation whose lanes have all come. False where there is none.
  bool complete_exchanges() {
    bool any = false;
    for (size_t first = 0; first < slots_.size(); first += 32) {
      const size_t lanes = std::min<size_t>(32, slots_.size() - first);
      for (size_t lane = 0; lane < lanes; ++lane) {
        if (slots_[first + lane].state == State::at_exchange && complete_exchange(first, lane)) any = true;
      }
    }
    return any;
  }

  bool complete_exchange(size_t first, size_t lane) {
    const Exchange exchange = slots_[first + lane].exchange;
    for (size_t other = 0; other < 32; ++other) {
      if ((exchange.mask >> other & 1U) == 0) continue;
      const Slot& slot = slots_[first + other];
      if (slot.state != State::at_exchange || !(slot.exchange.place == exchange.place) ||
          slot.exchange.mask != exchange.mask) {
        return false;
      }
    }
    for (size_t other = 0; other < 32; ++other) {
      if ((exchange.mask >> other & 1U) == 0) continue;
      arrived_[first / 32][other] = slots_[first + other].exchange;
      slots_[first + other].state = State::ready;
    }
    return true;
  }

  // Nobody can go on but through a barrier, which all threads must have come to.
  void complete_barrier() {
    for (const Slot& slot : slots_) {
      if (slot.state == State::at_exchange) {
        throw HostRunnerError(fmt::format("{}: {} while {}", slot.exchange.what, whereabouts(slot),
                                          whereabouts(stranger_in_warp(slot))));
      }
    }
    const Slot& first = *std::find_if(slots_.begin(), slots_.end(),
                                      [](const Slot& slot) { return slot.state == State::at_barrier; });
    for (const Slot& slot : slots_) {
      if (slot.state != State::at_barrier || !(slot.barrier == first.barrier)) {
        throw HostRunnerError(
            fmt::format("divergent barrier: {} while {}", whereabouts(first), whereabouts(slot)));
      }
    }
    for (Slot& slot : slots_) {
      slot.state = State::ready;
      ++slot.thread.moment_.interval;
    }
  }

  // A lane of the mask that keeps the warp operation of `waiting` from happening.
  const Slot& stranger_in_warp(const Slot& waiting) const {
    const size_t first = static_cast<size_t>(waiting.thread.warp()) * 32;
    for (size_t lane = 0; lane < 32; ++lane) {
      if ((waiting.exchange.mask >> lane & 1U) == 0) continue;
      const Slot& slot = slots_[first + lane];
      if (slot.state != State::at_exchange || !(slot.exchange.place == waiting.exchange.place) ||
          slot.exchange.mask != waiting.exchange.mask) {
        return slot;
      }
    }
    return waiting;
  }

  static std::string whereabouts(const Slot& slot) {
    const std::string who = fmt::format("thread {} of block {}", slot.thread.thread(), slot.thread.block());
    switch (slot.state) {
      case State::at_barrier:
        return fmt::format("{} waits at the barrier at {}", who, text(slot.barrier));
      case State::at_exchange:
        return fmt::format("{} waits at {} with mask {:#x}", who, text(slot.exchange.place),
                           slot.exchange.mask);
      default:
        return who + " has ended";
    }
  }

  ::gaze::detail::Grid grid_;
  const std::function<void(HostThread&)>& body_;
  int64_t launch_;
  std::vector<Slot> slots_;
  std::vector<SharedArray> shared_;
  std::vector<std::array<Exchange, 32>> arrived_;  // a warp's last operation
  std::exception_ptr error_;
};

namespace {

template <class Index>
std::vector<Index> turns(Index count, Order order, uint64_t seed) {
  std::vector<Index> result(static_cast<size_t>(count));
  std::iota(result.begin(), result.end(), Index(0));
  if (order == Order::backward) std::reverse(result.begin(), result.end());
  if (order == Order::shuffled) std::shuffle(result.begin(), result.end(), std::mt19937_64(seed));
  return result;
}

}  // namespace
}  // namespace detail

int HostThread::threads() const {
  return run_->threads();
}

void HostThread::sync(const char* file, int line) {
  run_->wait_at_barrier(*this, {file, line});
}

void HostThread::exchange_bytes(const char* what, void* value, size_t size, int source, unsigned mask,
                                const char* file, int line) {
  detail::Exchange exchange{what, {file, line}, mask, source, {}};
  std::memcpy(exchange.value.data(), value, size);
  const auto lanes = run_->wait_for_warp(*this, exchange);
  std::memcpy(value, lanes[static_cast<size_t>(source)].value.data(), size);
}

unsigned HostThread::ballot(bool predicate, unsigned mask, const char* file, int line) {
  detail::Exchange exchange{"ballot", {file, line}, mask, lane(), {}};
  exchange.value[0] = std::byte(predicate);
  const auto lanes = run_->wait_for_warp(*this, exchange);
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0 && lanes[lane].value[0] != std::byte(0)) result |= 1U << lane;
  }
  return result;
}

detail::WatchedMemory* HostThread::shared_memory(const char* name, int64_t count, int64_t element_bytes) {
  return run_->shared_memory(*this, name, count, element_bytes);
}

void run_grid(const ::gaze::detail::Grid& grid, const std::function<void(HostThread&)>& body, Order order) {
  static thread_local int64_t launches = 0;
  if (grid.threads < 1 || grid.threads > 1024 || grid.blocks < 1) {
    throw HostRunnerError(fmt::format("a grid of {} blocks of {} threads", grid.blocks, grid.threads));
  }
  const int64_t launch = launches++;
  detail::BlockRun run(grid, body, launch);
  for (const int64_t block : detail::turns<int64_t>(grid.blocks, order, 1)) {
    run.run(block, detail::turns<int>(grid.threads, order, static_cast<uint64_t>(block) + 2));
  }
}

}  // namespace gaze::test
