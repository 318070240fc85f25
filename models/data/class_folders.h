// Composed pictures in a folder a class: what a classifier is tried on. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/data/photographs.h"
#include "models/data/scene_files.h"

namespace gaze::models {

struct ClassFolderOptions {
  std::vector<std::string>
      nouns;  // the classes, nouns of stamps; empty: the `classes` nouns with most stamps
  int64_t classes = 5;
  int64_t count = 50;      // pictures a class
  double val_share = 0.2;  // of them, on grounds that no training picture has
  uint64_t seed = 1;
  int64_t size = 320;  // side of the pictures
  int64_t threads = 1;
  DataFolders folders;
};

// Writes `folder`/train/NOUN/001.jpg ... and `folder`/val/NOUN/001.jpg ...: scenes of one object, half of
// them close-ups, the same training stamps in both parts but other poses, and grounds of the part's own.
// Nothing is left behind where it fails. Throws ArgumentError (options), FileError (stamps, disk, a folder
// that is there already).
void write_class_folders(const ClassFolderOptions& options, const std::filesystem::path& folder,
                         const SceneProgress& progress = {});

}  // namespace gaze::models
