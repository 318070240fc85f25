#include "apps/gaze/command.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "modules/core/error.h"

namespace gaze::apps {
namespace {

namespace fs = std::filesystem;

}  // namespace

void add_common_options(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--device", options.device,
                  "auto or cpu; the CUDA ops of the preset cuda-release are for programs of your own so far")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "threads to use; 0 is one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "seed of everything random")->capture_default_str();
}

void apply(const CommonOptions& options) {
  if (options.device != "auto" && options.device != "cpu") {
    throw UsageError(fmt::format(
        "--device {}: this program computes on the cpu; the CUDA ops of the preset cuda-release are for "
        "programs of your own so far",
        options.device));
  }
  if (options.threads > 0) at::set_num_threads(options.threads);
  torch::manual_seed(options.seed);
}

fs::path bundled_model(const std::string& file) {
  std::vector<fs::path> folders;
  if (const char* chosen = std::getenv("GAZE_WEIGHTS")) folders.emplace_back(chosen);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  folders.push_back(program.parent_path() / ".." / "share" / "gaze");
  folders.push_back(program.parent_path() / ".." / ".." / ".." /
                    "weights");  // build/<preset>/bin of the source tree
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / file, ignored)) return fs::canonical(folder / file);
  }
  throw FileError(file, "the bundled model was not found",
                  "give one with --model, or set GAZE_WEIGHTS to the folder weights/");
}

void flush_output() {
  if (!std::cout.flush()) throw std::runtime_error("standard output cannot be written to; is the disk full?");
}

void warn(const std::string& text) {
  std::cerr << "gaze: " << text << std::endl;
}

}  // namespace gaze::apps
