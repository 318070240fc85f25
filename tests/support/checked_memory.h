// Memory for kernels that run in the host runner: it knows its bounds, which bytes were ever written, and who
// touched each byte since the last barrier.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "modules/ops/cuda/pack.h"

namespace gaze::test {

// What a kernel did wrong.
class HostRunnerError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {

// When a thread of a grid touches memory. Two threads of a block are ordered by the barrier that raises
// `interval`; two blocks of a launch are not ordered at all.
struct Moment {
  int64_t launch = -1;
  int64_t block = -1;
  int64_t interval = -1;
  int thread = -1;
};

// The thread that runs now; nullptr between grids, when the test itself reads and writes.
const Moment* running_moment();
void set_running_moment(const Moment* moment);

class WatchedMemory {
 public:
  // `place` is "global" or "shared". The bytes are poisoned with 0xff (a NaN in every floating type).
  WatchedMemory(std::string place, std::string name, int64_t elements, int64_t element_bytes);

  // `count` elements from `first`: inside, aligned to their common size, touched by nobody else, and, for a
  // read, written before. Throws HostRunnerError.
  const std::byte* read(int64_t first, int64_t count);
  std::byte* write(int64_t first, int64_t count);

  int64_t elements() const { return elements_; }
  const std::string& name() const { return name_; }

 private:
  struct Byte {
    bool written = false;
    Moment writer;
    Moment reader;        // the last one
    Moment other_reader;  // the last one that is not `reader`
    int64_t reading_launch = -1;
    int64_t first_reading_block = -1;
  };
  struct Free {
    void operator()(std::byte* bytes) const;
  };

  void check_place(int64_t first, int64_t count, const char* what) const;
  [[noreturn]] void fail(int64_t element, const char* what, const std::string& problem) const;
  [[noreturn]] void fail_race(int64_t element, const char* what, const Moment& other, const char* did) const;

  std::string place_, name_;
  int64_t elements_, element_bytes_;
  std::unique_ptr<std::byte[], Free> bytes_;
  std::vector<Byte> watch_;
};

}  // namespace detail

// What a kernel body has instead of a T*. An element is read by converting it to T and written by assigning
// to it, so `auto v = p[i]` is not a read: name the type.
template <class T>
class CheckedPointer {
 public:
  using Value = std::remove_const_t<T>;
  template <int N>
  using Pack = ::gaze::detail::Pack<Value, N>;

  class Element {
   public:
    operator Value() const { return pointer_.get(index_); }
    const Element& operator=(Value value) const {
      pointer_.set(index_, value);
      return *this;
    }
    const Element& operator=(const Element& other) const { return *this = static_cast<Value>(other); }
    const Element& operator+=(Value value) const {
      return *this = static_cast<Value>(static_cast<Value>(*this) + value);
    }

   private:
    friend class CheckedPointer;
    Element(const CheckedPointer& pointer, int64_t index) : pointer_(pointer), index_(index) {}
    const CheckedPointer& pointer_;
    int64_t index_;
  };

  CheckedPointer() = default;
  explicit CheckedPointer(detail::WatchedMemory* memory) : memory_(memory) {}
  operator CheckedPointer<const Value>() const { return CheckedPointer<const Value>(memory_); }  // NOLINT

  explicit operator bool() const { return memory_ != nullptr; }

  decltype(auto) operator[](int64_t index) const {
    if constexpr (std::is_const_v<T>) {
      return get(index);
    } else {
      return Element(*this, index);
    }
  }

  template <int N>
  Pack<N> load(int64_t index) const {
    Pack<N> pack;
    std::memcpy(&pack, there().read(index, N), sizeof(pack));
    return pack;
  }
  template <int N>
  void store(int64_t index, const Pack<N>& pack) const {
    static_assert(!std::is_const_v<T>);
    std::memcpy(there().write(index, N), &pack, sizeof(pack));
  }

 private:
  detail::WatchedMemory& there() const {
    if (memory_ == nullptr) throw HostRunnerError("a null pointer is read or written");
    return *memory_;
  }
  Value get(int64_t index) const { return load<1>(index).at[0]; }
  void set(int64_t index, Value value) const { store<1>(index, {value}); }

  detail::WatchedMemory* memory_ = nullptr;
};

// An array in global memory, owned by the test.
template <class T>
class GlobalBuffer {
 public:
  // Not yet written: reading an element before a kernel has written it is an error.
  GlobalBuffer(std::string name, int64_t elements)
      : memory_(std::make_unique<detail::WatchedMemory>("global", std::move(name), elements, sizeof(T))) {}
  GlobalBuffer(std::string name, const T* values, int64_t elements)
      : GlobalBuffer(std::move(name), elements) {
    for (int64_t i = 0; i < elements; ++i) std::memcpy(memory_->write(i, 1), values + i, sizeof(T));
  }
  GlobalBuffer(std::string name, const std::vector<T>& values)
      : GlobalBuffer(std::move(name), values.data(), static_cast<int64_t>(values.size())) {}

  CheckedPointer<T> pointer() const { return CheckedPointer<T>(memory_.get()); }
  CheckedPointer<const T> read_only() const { return CheckedPointer<const T>(memory_.get()); }

  // What kernels left; an element that none of them wrote is an error.
  std::vector<T> values() const {
    std::vector<T> result(static_cast<size_t>(memory_->elements()));
    for (size_t i = 0; i < result.size(); ++i) {
      std::memcpy(&result[i], memory_->read(static_cast<int64_t>(i), 1), sizeof(T));
    }
    return result;
  }

 private:
  std::unique_ptr<detail::WatchedMemory> memory_;
};

}  // namespace gaze::test
