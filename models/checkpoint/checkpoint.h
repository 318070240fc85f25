// Which kind of file it is, told by its content.
#pragma once

#include "models/checkpoint/file_reader.h"
#include "models/checkpoint/state_dict.h"

namespace gaze::models {

// Throws FileError that names what the file is instead: text, a web page, a Git LFS pointer, a picture, HDF5,
// an archive.
CheckpointFormat checkpoint_format(const FileReader& file);

}  // namespace gaze::models
