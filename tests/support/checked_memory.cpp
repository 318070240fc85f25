#include "tests/support/checked_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include <new>

namespace gaze::test::detail {
namespace {

constexpr std::align_val_t kAlignment{64};

thread_local const Moment* running = nullptr;

std::string who(const Moment& moment) {
  return fmt::format("thread {} of block {}", moment.thread, moment.block);
}

bool same_thread(const Moment& a, const Moment& b) {
  return a.launch == b.launch && a.block == b.block && a.thread == b.thread;
}

// Nothing orders the two.
bool meet(const Moment& a, const Moment& b) {
  if (a.launch != b.launch || same_thread(a, b)) return false;
  return a.block != b.block || a.interval == b.interval;
}

}  // namespace

const Moment* running_moment() {
  return running;
}
void set_running_moment(const Moment* moment) {
  running = moment;
}

void WatchedMemory::Free::operator()(std::byte* bytes) const {
  ::operator delete[](bytes, kAlignment);
}

WatchedMemory::WatchedMemory(std::string place, std::string name, int64_t elements, int64_t element_bytes)
    : place_(std::move(place)),
      name_(std::move(name)),
      elements_(elements),
      element_bytes_(element_bytes),
      bytes_(static_cast<std::byte*>(
          ::operator new[](static_cast<size_t>(elements* element_bytes), kAlignment))),
      watch_(static_cast<size_t>(elements * element_bytes)) {
  std::memset(bytes_.get(), 0xff, watch_.size());
}

void WatchedMemory::fail(int64_t element, const char* what, const std::string& problem) const {
  throw HostRunnerError(fmt::format("{} memory \"{}\": {} {} element {}{}", place_, name_,
                                    running != nullptr ? who(*running) : "the test", what, element, problem));
}

void WatchedMemory::fail_race(int64_t element, const char* what, const Moment& other, const char* did) const {
  fail(element, what,
       fmt::format(", which {} {}; {}", who(other), did,
                   other.block == running->block ? "no barrier lies between" : "blocks have no order"));
}

void WatchedMemory::check_place(int64_t first, int64_t count, const char* what) const {
  if (first < 0 || first + count > elements_) {
    fail(first < 0 ? first : std::max(first, elements_), what, fmt::format(", but it has {}", elements_));
  }
  if (first % count != 0) {
    fail(first, what, fmt::format(" as the first of {}, which is not aligned to them", count));
  }
}

const std::byte* WatchedMemory::read(int64_t first, int64_t count) {
  constexpr const char* reads = "reads";
  check_place(first, count, reads);
  for (int64_t i = first * element_bytes_; i < (first + count) * element_bytes_; ++i) {
    Byte& byte = watch_[static_cast<size_t>(i)];
    if (!byte.written) fail(i / element_bytes_, reads, ", which nobody has written");
    if (running == nullptr) continue;
    if (meet(byte.writer, *running)) fail_race(i / element_bytes_, reads, byte.writer, "wrote");
    if (!same_thread(byte.reader, *running)) byte.other_reader = byte.reader;
    byte.reader = *running;
    if (byte.reading_launch != running->launch) {
      byte.reading_launch = running->launch;
      byte.first_reading_block = running->block;
    }
  }
  return bytes_.get() + first * element_bytes_;
}

std::byte* WatchedMemory::write(int64_t first, int64_t count) {
  constexpr const char* writes = "writes";
  check_place(first, count, writes);
  for (int64_t i = first * element_bytes_; i < (first + count) * element_bytes_; ++i) {
    Byte& byte = watch_[static_cast<size_t>(i)];
    byte.written = true;
    if (running == nullptr) continue;
    const int64_t element = i / element_bytes_;
    if (meet(byte.writer, *running)) fail_race(element, writes, byte.writer, "wrote");
    if (meet(byte.reader, *running)) fail_race(element, writes, byte.reader, "read");
    if (meet(byte.other_reader, *running)) fail_race(element, writes, byte.other_reader, "read");
    if (byte.reading_launch == running->launch && byte.first_reading_block != running->block) {
      fail(element, writes,
           fmt::format(", which block {} read; blocks have no order", byte.first_reading_block));
    }
    byte.writer = *running;
  }
  return bytes_.get() + first * element_bytes_;
}

}  // namespace gaze::test::detail
