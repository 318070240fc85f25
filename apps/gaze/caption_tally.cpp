#include "apps/gaze/caption_tally.h"

#include <fmt/format.h>

#include "modules/core/number_text.h"

namespace gaze::apps {
namespace {

constexpr size_t kNames = 20;

}  // namespace

CaptionTally::CaptionTally(int64_t pictures, bool shows_progress)
    : pictures_(pictures), shows_progress_(shows_progress), progress_("pictures", FirstLine::after_a_while) {}

void CaptionTally::add_known(int64_t count) {
  known_ += count;
}

void CaptionTally::add(const CaptionOutcome& outcome) {
  if (outcome.result) {
    ++captioned_;
  } else {
    ++failed_;
    if (names_.size() < kNames) names_.push_back(outcome.image);
    progress_.clear();
    warn(outcome.error);
  }
  if (shows_progress_) progress_.show(known_ + captioned_ + failed_, pictures_);
}

void CaptionTally::name_failed() {
  if (failed_ == 0 || pictures_ == 1) return;
  progress_.clear();
  std::string text = fmt::format("{} of {} pictures failed:", grouped(failed_), grouped(pictures_));
  for (const std::string& name : names_) text += "\n  " + name;
  const int64_t others = failed_ - static_cast<int64_t>(names_.size());
  if (others > 0) text += fmt::format("\n  and {} more", grouped(others));
  warn(text);
}

ExitStatus CaptionTally::status() const {
  if (failed_ == 0) return kOk;
  return known_ + captioned_ > 0 ? kSomeFailed : kFailure;
}

}  // namespace gaze::apps
