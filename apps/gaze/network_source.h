// A network on the command line: a model file, or a network's name and the file of its weights.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/gaze/command.h"
#include "models/backbone/backbone.h"
#include "models/captioner/captioner.h"
#include "models/checkpoint/model_file.h"

namespace gaze::apps {

struct NetworkSource {
  std::filesystem::path model, weights;
  std::string backbone;
};
// Adds --model, --backbone, --weights.
void add_network_options(CLI::App& command, NetworkSource& source);
// Throws UsageError unless --backbone and --weights are given together, or neither.
void check_own(const NetworkSource& source);
// Throws UsageError unless exactly one of the two is given.
void check(const NetworkSource& source);

// Adds the same for a captioner: the bundled model without --model, and a person's own network in it.
void add_captioner_options(CLI::App& command, NetworkSource& source);
// The caption model's file. Throws FileError where the bundled one is not found.
std::filesystem::path captioner_file(const NetworkSource& source);
models::Captioner load_captioner(const NetworkSource& source);

struct LoadedNetwork {
  std::shared_ptr<models::Backbone> network;
  models::Preprocessing preprocessing;
  std::vector<std::string> labels;         // empty where the file has none
  std::optional<models::ModelFile> model;  // nothing for bare weights
};
// Throws FileError for what can't be read or does not fit.
LoadedNetwork load_network(const NetworkSource& source);

}  // namespace gaze::apps
