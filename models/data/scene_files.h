// Scenes on disk:
//   images/000001.jpg ...   the pictures
//   captions.json           COCO captions
//   instances.json          COCO instances, masks as uncompressed run lengths
//   scenes.json             [{"image", "width", "height", "held_out", "objects": [{"noun", "plural",
//   "article", "stamp",
//                           "mask_rle": {"size": [height, width], "counts": [...]}}], "relation": [i, name,
//                           j] of the first two or null, "relations": [[i, name, j], ...], "ground",
//                           "captions"}]
// Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "models/data/scenes.h"

namespace gaze::models {

// Called after each scene that is on disk: how many are, and of how many.
using SceneProgress = std::function<void(int64_t done, int64_t count)>;

struct SceneFileOptions {
  int64_t count = 0;
  int64_t threads = 1;
  const char* format = "jpg";  // or "png"
};

// Writes scenes 0 .. count - 1 of the composer. What is already there from an interrupted run of the same
// options is kept; captions.json, instances.json and scenes.json come last. Throws FileError, also where
// `folder` holds something else.
void write_scenes(const SceneComposer& composer, const SceneFileOptions& options,
                  const std::filesystem::path& folder, const SceneProgress& progress = {});

// Scenes of a folder that write_scenes made, read one at a time.
class SceneFolder {
 public:
  // Throws FileError where scenes.json is missing or damaged.
  explicit SceneFolder(const std::filesystem::path& folder);
  ~SceneFolder();

  int64_t size() const;
  Scene read(int64_t index) const;  // thread-safe

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace gaze::models
