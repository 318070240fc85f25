// The JSON header of a safetensors file, checked against the file.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/checkpoint/file_reader.h"

namespace gaze::models {

struct SafetensorsEntry {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // of its data, from the start of the file
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;
};

// What `read_safetensors` would give, without reading the data; the same checks. Throws FileError.
SafetensorsHeader read_safetensors_header(const FileReader& file);

}  // namespace gaze::models
