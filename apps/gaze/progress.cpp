#include "apps/gaze/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <utility>

namespace gaze::apps {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::string what, FirstLine first_line)
    : what_(std::move(what)),
      first_line_(first_line),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()) {}

Progress::~Progress() {
  if (terminal_ && drawn_) std::cerr << "\n";
}

void Progress::show(int64_t done, int64_t total, const std::string& note) {
  const auto now = Clock::now();
  if (first_ < 0) {
    first_ = done > 0 ? done - 1 : 0;
    start_ = shown_ = now;
  }
  const bool waits = !terminal_ && !drawn_ && first_line_ == FirstLine::after_a_while;
  const std::chrono::duration<double> pause(terminal_ ? 0.2 : 15.0);
  if ((waits || (drawn_ && done < total)) && now - shown_ < pause) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? static_cast<double>(done - first_) / seconds : 0;
  const std::string left = rate > 0 ? clock_text(static_cast<double>(total - done) / rate) : "?";
  const std::string line =
      fmt::format("{} {}/{}  {:.3g}/s  {} left  {}", what_, done, total, rate, left, note);
  std::cerr << (terminal_ ? "\r\033[K" + line : line + "\n") << std::flush;
  drawn_ = true;
}

void Progress::clear() {
  if (!terminal_ || !drawn_) return;
  std::cerr << "\r\033[K" << std::flush;
  drawn_ = false;
}

}  // namespace gaze::apps
