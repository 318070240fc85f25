// Progress on stderr: one line that is redrawn on a terminal, a plain line now and then otherwise.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gaze::apps {

// Where stderr is no terminal: whether the first line comes at once, or only when the work takes longer.
enum class FirstLine { at_once, after_a_while };

class Progress {
 public:
  explicit Progress(std::string what, FirstLine first_line = FirstLine::at_once);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // done of total, with rate and time left; `note` follows ("loss 1.234").
  void show(int64_t done, int64_t total, const std::string& note = "");

  // Clears the terminal's line for another text; the next show() draws it again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  FirstLine first_line_;
  bool terminal_;
  int64_t first_ = -1;  // what was done before this program began
  Clock::time_point start_, shown_;
  bool drawn_ = false;
};

}  // namespace gaze::apps
