// Where in the plain data of a pickled checkpoint the state dict is. Includes no torch.
#pragma once

#include <map>
#include <string>

#include "models/checkpoint/file_reader.h"
#include "models/checkpoint/pickle.h"

namespace gaze::models {

struct PickledState {
  const PickledValue* holder = nullptr;                // the dict or the module they are of
  std::map<std::string, const PickledValue*> entries;  // by full name; not all need be tensors
};

// The entries of the dict `root`, or of what its entry "state_dict", "model" or "model_state_dict" holds; of
// a whole pickled module its parameters and persistent buffers. Of a dict that holds two networks as its
// entries "encoder" and "decoder", dicts or modules, those of both, by names that start so. Throws FileError
// for modules that contain each other.
PickledState find_state(const FileReader& file, const PickledValue& root);

}  // namespace gaze::models
