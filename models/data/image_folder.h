// Pictures in a folder a class, as torchvision's ImageFolder has them. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "models/image/image.h"

namespace gaze::models {

struct LabelledPicture {
  std::filesystem::path file;
  int64_t label = 0;  // place of its class in ImageFolder::classes
};

struct ImageFolder {
  std::vector<std::string> classes;         // names of the folders, sorted
  std::vector<LabelledPicture> train, val;  // by class, then by path
  std::vector<std::string>
      unreadable;      // why each picture that was left out cannot be read: path and next step
  ImageOptions image;  // what they were read with
};

struct ImageFolderOptions {
  double val_share = 0.2;  // of each class, at least one picture and never all; where there is no folder val
  uint64_t seed = 1;       // of the split
  int64_t threads = 1;
  ImageOptions image;
};

// Reads FOLDER/CLASS/*, or FOLDER/train/CLASS/* and FOLDER/val/CLASS/*; pictures may lie in folders within a
// class. Every picture is decoded once: one that cannot be read is left out and listed. `progress` is called
// by this thread with how many of how many pictures have been looked at. Throws FileError, in one line: no
// folder, no classes, one class only, a class without a (readable) picture, too few for a split, train and
// val that differ in their classes; ArgumentError for a val_share outside (0, 1).
ImageFolder read_image_folder(const std::filesystem::path& folder, const ImageFolderOptions& options,
                              const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace gaze::models
