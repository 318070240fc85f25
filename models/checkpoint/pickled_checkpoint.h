// The two forms torch.save writes: a zip of a pickle and its storages, and the legacy sequence of pickles and
// storages.
#pragma once

#include "models/checkpoint/file_reader.h"
#include "models/checkpoint/state_dict.h"

namespace gaze::models {

// The state dict of a file of the format torch_zip or torch_legacy; see read_state_dict. Throws FileError.
StateDict read_pickled_state_dict(const FileReader& file, CheckpointFormat format);

}  // namespace gaze::models
