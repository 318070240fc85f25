// Where the photographs and stamps of the tables lie on this machine. Includes no torch.
#pragma once

#include <filesystem>

#include "models/data/tables.h"

namespace gaze::models {

struct DataFolders {
  std::filesystem::path root = "/";  // where Debian packages are unpacked
  std::filesystem::path bundled;     // of the bundled photographs; empty: bundled_photographs()
};

// The folder of the bundled photographs: $GAZE_PHOTOS, the installed share/gaze/photos, or the source tree's
// tests/photos beside the program's build; empty where there is none.
std::filesystem::path bundled_photographs();

// Where the photograph is; the file need not exist.
std::filesystem::path photograph_file(const Photograph& photograph, const DataFolders& folders = {});

// The folder of tuxpaint-stamps-default.
std::filesystem::path stamps_folder(const DataFolders& folders = {});

}  // namespace gaze::models
