// The kinds of data.
#pragma once

#include "apps/gaze/command.h"

namespace gaze::apps {

void add_data_pairs(CLI::App& data, Run& run);

}  // namespace gaze::apps
