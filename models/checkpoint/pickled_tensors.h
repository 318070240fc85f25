// From the plain data of a pickled checkpoint to its tensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "models/checkpoint/file_reader.h"
#include "models/checkpoint/pickle.h"
#include "models/checkpoint/state_dict.h"
#include "models/checkpoint/zip_directory.h"

namespace gaze::models {

// What a persistent id says of a storage: ("storage", torch.FloatStorage, key, location, elements[, view]).
struct StorageReference {
  std::string key;
  at::ScalarType dtype = at::kFloat;
  int64_t elements = 0;                   // of the whole storage
  int64_t view_begin = 0, view_size = 0;  // in elements: the part the tensor may use
};
// Nothing for a value that is no persistent id; throws FileError for one that is none of a storage.
std::optional<StorageReference> storage_reference(const FileReader& file, const PickledValue& value);

// Where the bytes of each storage lie in the file.
using StorageExtents = std::map<std::string, ByteExtent>;

// Finds the state dict below `root` (see read_state_dict) and reads its tensors; each storage once, so that
// tensors which shared memory share it again. Values that are no tensors are passed over. Throws FileError.
StateDict read_tensors(const FileReader& file, const PickledValue& root, const StorageExtents& extents);

}  // namespace gaze::models
