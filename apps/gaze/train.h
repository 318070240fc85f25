// The kinds of training, and what they share.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "apps/gaze/command.h"
#include "models/training/training_loop.h"

namespace gaze::apps {

void add_train_caption(CLI::App& train, Run& run);
void add_train_classify(CLI::App& train, Run& run);
void add_train_distill(CLI::App& train, Run& run);
void add_train_translate(CLI::App& train, Run& run);

// What every kind is told.
struct TrainFlags {
  CommonOptions common;
  std::filesystem::path recipe, out;
  bool json = false;
};
// Adds --recipe, --out, --json and the common flags. `files` are what the folder of a run holds.
void add_train_flags(CLI::App& command, TrainFlags& flags,
                     const std::string& files = "model.safetensors, log.csv, state.safetensors");
// When `command` is chosen, the run is `train` with the recipe's values where the command line has none.
void train_when_chosen(CLI::App& command, const TrainFlags& flags, Run& run, Run train);

// Shows a run on stderr: a progress line a stage, and at the end of an epoch a line with its losses and
// "SCORE in 97.5 %".
std::function<void(const models::TrainingMoment&)> watch_training(const std::string& score);

}  // namespace gaze::apps
