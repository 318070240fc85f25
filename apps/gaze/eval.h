// What can be measured: one subcommand a kind of model.
#pragma once

#include "apps/gaze/command.h"

namespace gaze::apps {

void add_eval_pairs(CLI::App& eval, Run& run);

}  // namespace gaze::apps
