// LibTorch's warnings, kept quiet for a while.
#pragma once

#include <c10/util/Exception.h>

namespace gaze {

// While it lives, TORCH_WARN of this thread says nothing: what a module has to say of unwise options is for
// who makes a model, not for who loads one.
class WithoutWarnings {
 private:
  struct Silence : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  };
  Silence silence_;
  c10::WarningUtils::WarningHandlerGuard guard_{&silence_};
};

}  // namespace gaze
