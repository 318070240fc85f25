// The flags of subcommands that compose scenes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "models/data/scenes.h"

namespace gaze::apps {

struct SceneFlags {
  std::string split = "test";
  std::string objects = "1-3";  // "2" or "1-3"
  models::SceneOptions options;
};

// Adds --split, --objects, --size, --vary-aspect, --held-out, --packages.
void add_scene_options(CLI::App& command, SceneFlags& flags);

// The options that the flags and --seed give; throws UsageError.
models::SceneOptions scene_options(const SceneFlags& flags, uint64_t seed);

// Says on stderr which grounds this machine lacks.
void warn_of_missing_grounds(const models::SceneComposer& composer);

}  // namespace gaze::apps
