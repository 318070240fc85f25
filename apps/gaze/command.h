// What the subcommands share: exit statuses, common flags, the bundled model.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gaze::apps {

enum ExitStatus { kOk = 0, kFailure = 1, kUsage = 2, kSomeFailed = 3 };

// A wrong command line that CLI11 cannot see by itself; ends the program with kUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a parsed command line will do. Each add_* function registers one subcommand whose callback sets it.
using Run = std::function<int()>;

struct CommonOptions {
  std::string device = "auto";  // auto|cpu
  int threads = 0;              // 0: as many as cores
  uint64_t seed = 1;
};
// Adds --device, --threads, --seed to a subcommand.
void add_common_options(CLI::App& command, CommonOptions& options);
// Sets threads and seed; throws UsageError for a device the program does not compute on.
void apply(const CommonOptions& options);

// The bundled model: $GAZE_WEIGHTS, the source tree's weights/, or the installed share/gaze. Throws FileError
// with what to do.
std::filesystem::path bundled_model(const std::string& file);

// Hands on what was printed; throws where standard output does not take it. main() does so at the end;
// commands that print as they go do it after each batch.
void flush_output();

// "gaze: text" on stderr.
void warn(const std::string& text);

void add_classify(CLI::App& app, Run& run);
void add_caption(CLI::App& app, Run& run);
void add_overlay(CLI::App& app, Run& run);
void add_inspect(CLI::App& app, Run& run);
void add_modules(CLI::App& app, Run& run);
void add_convert(CLI::App& app, Run& run);
void add_insert(CLI::App& app, Run& run);
void add_data(CLI::App& app, Run& run);
void add_train(CLI::App& app, Run& run);
void add_eval(CLI::App& app, Run& run);
void add_translate(CLI::App& app, Run& run);

}  // namespace gaze::apps
