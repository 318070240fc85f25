// The frozen network that a training reads, from either kind of file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"
#include "models/image/preprocess.h"

namespace gaze::models {

struct FrozenNetwork {
  std::shared_ptr<Backbone> backbone;  // in evaluation mode; no parameter learns
  Preprocessing preprocessing;         // a model file's own, else the network's usual one
  std::vector<std::string> labels;     // a model file's; empty for bare weights
  bool filled = false;                 // slots came with blocks in them
};

// The network `name` from `file`: bare weights as load_backbone() takes them, or a model file of that
// network. Throws FileError that says what does not fit.
FrozenNetwork frozen_network(const std::string& name, const std::filesystem::path& file);

}  // namespace gaze::models
