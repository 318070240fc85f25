// A function that can be left in the middle and gone on with later, on a stack of its own.
#pragma once

#include <ucontext.h>

#include <functional>
#include <memory>

namespace gaze::test {

class Fibre {
 public:
  Fibre();
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  // Sets what the next resume() begins with. `body` must not throw. A body that was left for good is dropped:
  // its locals are not destroyed.
  void start(std::function<void()> body);
  // Runs the body until it suspends or ends. Called from outside the fibre.
  void resume();
  // Back to the caller of resume(). Called from the body.
  void suspend();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  static void entry(unsigned int high, unsigned int low);
  void run();
  void switch_to_caller(bool for_good);

  std::unique_ptr<char[]> stack_;
  std::function<void()> body_;
  ucontext_t here_{}, caller_{};
  bool ended_ = true;
  // What the sanitizers keep for each stack.
  struct SanitizerState {
    void* own_fake_stack = nullptr;
    void* caller_fake_stack = nullptr;
    const void* caller_stack = nullptr;
    size_t caller_stack_size = 0;
    void* own_thread = nullptr;
    void* caller_thread = nullptr;
  };
  SanitizerState sanitizer_;
};

}  // namespace gaze::test
