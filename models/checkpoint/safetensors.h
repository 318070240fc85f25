// The safetensors format: 8 bytes of header length (little endian), JSON header, data.
// https://github.com/huggingface/safetensors
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/checkpoint/file_reader.h"
#include "models/checkpoint/state_dict.h"

namespace gaze::models {

struct Safetensors {
  StateDict tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Every offset is checked against the file before anything is allocated. Throws FileError. As the reference
// does: a header of at most 100 MB; no name twice; the tensors' data follow each other without gap or overlap
// to the end of the file. Besides, at most 100,000 tensors.
Safetensors read_safetensors(const std::filesystem::path& path);
Safetensors read_safetensors(const FileReader& file);

// Writes under a temporary name in the same folder, then renames; on failure (full disk, read-only folder)
// removes the temporary file and throws FileError. float64, float32, bfloat16, float16, int64, int32, uint8,
// bool (and the other types of the format). Byte for byte what the reference writes: data ordered by type,
// widest first and so aligned, then by name. Throws ArgumentError for a tensor of a type the format has not,
// and for a name that is not UTF-8.
void write_safetensors(const std::filesystem::path& path, const Safetensors& content);

}  // namespace gaze::models
