// gaze: attention for vision networks, and pictures of where they look.
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/gaze/command.h"
#include "apps/gaze/version.h"
#include "modules/core/check.h"
#include "modules/core/error.h"

namespace gaze::apps {
namespace {

// What LibTorch says of an error, without the places in its sources: its first line.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// CLI11 says only that there must be a command.
bool told_unknown_command(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::RequiredError) || argc < 2 ||
      argv[1][0] == '-')
    return false;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return false;
  try {
    fail_unknown("gaze", "command", argv[1], names);
  } catch (const ArgumentError& told) {
    warn(told.what());
  }
  return true;
}

}  // namespace
}  // namespace gaze::apps

int main(int argc, char** argv) {
  using namespace gaze::apps;
  CLI::App app(
      "gaze: captions for pictures, and where every word looked.\n\nExample:\n  gaze caption photo.jpg",
      "gaze");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text);
  Run run;
  add_caption(app, run);
  add_overlay(app, run);
  add_classify(app, run);
  add_inspect(app, run);
  add_modules(app, run);
  add_convert(app, run);
  add_insert(app, run);
  add_data(app, run);
  add_train(app, run);
  add_eval(app, run);
  add_translate(app, run);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (told_unknown_command(app, error, argc, argv)) return kUsage;
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  try {
    const int status = run();
    flush_output();
    return status;
  } catch (const UsageError& error) {
    warn(error.what());
    return kUsage;
  } catch (const c10::Error& error) {
    warn(first_line(error.what_without_backtrace()));
    return kFailure;
  } catch (const std::exception& error) {
    warn(error.what());
    return kFailure;
  }
}
