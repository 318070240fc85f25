// The directory of a zip file, without any decompression: torch.save stores entries as they are. Includes no
// torch.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/checkpoint/file_reader.h"

namespace gaze::models {

// A range of a file.
struct ByteExtent {
  uint64_t begin = 0, bytes = 0;
};

struct ZipEntry {
  ByteExtent extent;
  bool compressed = false;  // then the extent holds something else than the content
};

// Name -> where the entry lies. Throws FileError: cut short, damaged, an entry encrypted, named twice or
// outside the file; entries that together are larger than the file (they overlap).
std::map<std::string, ZipEntry> read_zip_directory(const FileReader& file);

}  // namespace gaze::models
