// Progress on stderr: one line that is redrawn on a terminal, a plain line now and then otherwise.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gaze::apps {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // done of total, with rate and time left; `note` follows ("loss 1.234").
  void show(int64_t done, int64_t total, const std::string& note = "");

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool terminal_;
  int64_t first_ = -1;  // what was done before this program began
  Clock::time_point start_, shown_;
  bool drawn_ = false;
};

}  // namespace gaze::apps
