// A backbone from a file: a person's own weights, or the network inside a model file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "models/backbone/backbone.h"
#include "models/checkpoint/model_file.h"

namespace gaze::models {

// The network `name` with the weights of a .pth or safetensors file, which must be its own tensors, no more
// and no fewer, under their names here or in an ecosystem that key_map.h knows: then with the options and the
// blocks that those weights want. As many classes as the file's head has. In evaluation mode. Throws
// ArgumentError for an unknown name; FileError that says what does not fit, and which network the file is of
// where its tensors tell.
std::shared_ptr<Backbone> load_backbone(const std::string& name, const std::filesystem::path& weights);

// The network of a model file, with the blocks in its slots. In evaluation mode. Throws ArgumentError that
// says what does not fit.
std::shared_ptr<Backbone> load_backbone(const ModelFile& model);

}  // namespace gaze::models
