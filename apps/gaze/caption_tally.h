// What became of many pictures: progress, the bad ones as they come and at the end, the exit status.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/gaze/caption_output.h"
#include "apps/gaze/command.h"
#include "apps/gaze/progress.h"

namespace gaze::apps {

class CaptionTally {
 public:
  // Progress is shown unless the captions themselves are seen coming.
  CaptionTally(int64_t pictures, bool shows_progress);

  // So many were captioned by an earlier run.
  void add_known(int64_t count);
  // Says why it failed, if it did.
  void add(const CaptionOutcome& outcome);

  int64_t failed() const { return failed_; }
  // The bad pictures of several, named once more behind all that was said since.
  void name_failed();
  ExitStatus status() const;

 private:
  int64_t pictures_;
  bool shows_progress_;
  int64_t known_ = 0, captioned_ = 0, failed_ = 0;
  std::vector<std::string> names_;  // the first few of those that failed
  Progress progress_;
};

}  // namespace gaze::apps
