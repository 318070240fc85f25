// The model file: one safetensors file whose metadata entry "gaze" says what the weights are for.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/checkpoint/state_dict.h"

namespace gaze::models {

// {format: 1, task: "classify" | "caption" | "translate", backbone: {name, stride, options}, slots: {name:
// spec}, decoder:
// {...},
//  tokenizer: {kind, data}, preprocessing: {...}, labels: [...], provenance: {recipe, data, licence, seed,
//  scores}}
// Must be there: format, task; backbone.name and preprocessing, and for "caption" decoder and tokenizer; for
// "translate" instead translator, source_tokenizer and tokenizer.
struct ModelFile {
  nlohmann::json description;
  StateDict weights;  // keys "backbone.*", "decoder.*"
};

// A safetensors file with a "gaze" entry. Throws FileError for what is no checkpoint at all.
bool is_model_file(const std::filesystem::path& path);

// Throws FileError: not a safetensors file, no "gaze" entry (a bare checkpoint: says so), a newer format, a
// field missing.
ModelFile read_model_file(const std::filesystem::path& path);

// A description without "format" gets this version's. Throws ArgumentError for one that read_model_file would
// refuse, FileError where the file cannot be written; then nothing is left behind.
void write_model_file(const std::filesystem::path& path, const ModelFile& model);

// The checked description among the metadata of the safetensors file `path`, or nothing for a bare
// checkpoint.
std::optional<nlohmann::json> model_description(const std::filesystem::path& path,
                                                const std::map<std::string, std::string>& metadata);

// The tensors whose names start with `prefix`, without it.
StateDict with_prefix(const StateDict& state, const std::string& prefix);

}  // namespace gaze::models
