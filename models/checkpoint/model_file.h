// The model file: one safetensors file whose metadata entry "gaze" says what the weights are for.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/checkpoint/state_dict.h"

namespace gaze::models {

// {format: 1, task: "classify" | "caption", backbone: {name, stride, options}, slots: {name: spec}, decoder: {...},
//  tokenizer: {kind, data}, preprocessing: {...}, labels: [...], provenance: {recipe, data, licence, seed, scores}}
struct ModelFile {
  nlohmann::json description;
  StateDict weights;  // keys "backbone.*", "decoder.*"
};

// Throws FileError: not a safetensors file, no "gaze" entry (a bare checkpoint: says so), a newer format, a field missing.
ModelFile read_model_file(const std::filesystem::path& path);
void write_model_file(const std::filesystem::path& path, const ModelFile& model);

// The tensors whose names start with `prefix`, without it.
StateDict with_prefix(const StateDict& state, const std::string& prefix);

}  // namespace gaze::models
