// The safetensors format: 8 bytes of header length (little endian), JSON header, data.
// https://github.com/huggingface/safetensors
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "models/checkpoint/state_dict.h"

namespace gaze::models {

struct Safetensors {
  StateDict tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Every offset is checked against the file before anything is allocated. Throws FileError.
Safetensors read_safetensors(const std::filesystem::path& path);

// Writes under a temporary name in the same folder, then renames; on failure (full disk, read-only folder) removes the
// temporary file and throws FileError. float64, float32, bfloat16, float16, int64, int32, uint8, bool.
void write_safetensors(const std::filesystem::path& path, const Safetensors& content);

}  // namespace gaze::models
