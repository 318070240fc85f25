// gaze: attention for vision networks, and pictures of where they look.
#include <exception>
#include <iostream>

#include "apps/gaze/command.h"
#include "apps/gaze/version.h"
#include "modules/core/error.h"

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
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  try {
    return run();
  } catch (const UsageError& error) {
    warn(error.what());
    return kUsage;
  } catch (const std::exception& error) {
    warn(error.what());
    return kFailure;
  }
}
