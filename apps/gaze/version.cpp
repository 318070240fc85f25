#include "apps/gaze/version.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/native/DispatchStub.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <opencv2/core/version.hpp>

namespace gaze::apps {

std::string version_text() {
  return fmt::format(
      "gaze {}\nLibTorch {}\nOpenCV {}\nfmt {}.{}.{}\nCPU {}, {} threads\nGPU none (a CPU build)",
      GAZE_VERSION, TORCH_VERSION, CV_VERSION, FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
      FMT_VERSION % 100, at::get_cpu_capability(), at::get_num_threads());
}

}  // namespace gaze::apps
