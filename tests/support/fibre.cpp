#include "tests/support/fibre.h"

#include <cstdint>

#if defined(__has_feature)
#define GAZE_HAS_FEATURE(x) __has_feature(x)
#else
#define GAZE_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || GAZE_HAS_FEATURE(address_sanitizer)
#define GAZE_FIBRE_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || GAZE_HAS_FEATURE(thread_sanitizer)
#define GAZE_FIBRE_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif

namespace gaze::test {
namespace {

constexpr size_t kStackSize = 256 * 1024;  // only touched pages cost memory

}  // namespace

Fibre::Fibre() : stack_(new char[kStackSize]) {
#ifdef GAZE_FIBRE_TSAN
  sanitizer_.own_thread = __tsan_create_fiber(0);
#endif
}

Fibre::~Fibre() {
#ifdef GAZE_FIBRE_TSAN
  __tsan_destroy_fiber(sanitizer_.own_thread);
#endif
}

void Fibre::start(std::function<void()> body) {
  body_ = std::move(body);
  ended_ = false;
  sanitizer_.own_fake_stack = nullptr;
  getcontext(&here_);
  here_.uc_stack.ss_sp = stack_.get();
  here_.uc_stack.ss_size = kStackSize;
  here_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);  // makecontext passes ints
  makecontext(&here_, reinterpret_cast<void (*)()>(&Fibre::entry), 2, static_cast<unsigned int>(self >> 32),
              static_cast<unsigned int>(self));
}

void Fibre::entry(unsigned int high, unsigned int low) {
  reinterpret_cast<Fibre*>((static_cast<uintptr_t>(high) << 32) | low)->run();
}

void Fibre::run() {
#ifdef GAZE_FIBRE_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &sanitizer_.caller_stack, &sanitizer_.caller_stack_size);
#endif
  body_();
  ended_ = true;
  switch_to_caller(true);
}

void Fibre::resume() {
#ifdef GAZE_FIBRE_ASAN
  __sanitizer_start_switch_fiber(&sanitizer_.caller_fake_stack, stack_.get(), kStackSize);
#endif
#ifdef GAZE_FIBRE_TSAN
  sanitizer_.caller_thread = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(sanitizer_.own_thread, 0);
#endif
  swapcontext(&caller_, &here_);
#ifdef GAZE_FIBRE_ASAN
  __sanitizer_finish_switch_fiber(sanitizer_.caller_fake_stack, nullptr, nullptr);
#endif
}

void Fibre::suspend() {
  switch_to_caller(false);
}

void Fibre::switch_to_caller(bool for_good) {
#ifdef GAZE_FIBRE_ASAN
  // For good: the fake stack of the fibre is given back.
  __sanitizer_start_switch_fiber(for_good ? nullptr : &sanitizer_.own_fake_stack, sanitizer_.caller_stack,
                                 sanitizer_.caller_stack_size);
#endif
#ifdef GAZE_FIBRE_TSAN
  __tsan_switch_to_fiber(sanitizer_.caller_thread, 0);
#endif
  swapcontext(&here_, &caller_);
#ifdef GAZE_FIBRE_ASAN
  __sanitizer_finish_switch_fiber(sanitizer_.own_fake_stack, &sanitizer_.caller_stack,
                                  &sanitizer_.caller_stack_size);
#endif
}

}  // namespace gaze::test
