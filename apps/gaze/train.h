// The kinds of training, and what they share.
#pragma once

#include <functional>
#include <string>

#include "apps/gaze/command.h"
#include "models/training/training_loop.h"

namespace gaze::apps {

void add_train_caption(CLI::App& train, Run& run);
void add_train_classify(CLI::App& train, Run& run);
void add_train_distill(CLI::App& train, Run& run);
void add_train_translate(CLI::App& train, Run& run);

// Shows a run on stderr: a progress line a stage, and at the end of an epoch a line with its losses and
// "SCORE in 97.5 %".
std::function<void(const models::TrainingMoment&)> watch_training(const std::string& score);

}  // namespace gaze::apps
