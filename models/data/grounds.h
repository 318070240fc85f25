// What scenes stand on: photographs and painted textures. Includes no torch.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "models/data/photographs.h"
#include "models/data/tables.h"
#include "models/image/image.h"
#include "modules/core/random.h"

namespace gaze::models {

struct Ground {
  Image picture;
  std::string name;  // "grass", "a brick wall"
};

// The grounds of one split. Textures of different splits differ in their numbers: hue, size of the grain,
// width of the boards.
class Grounds {
 public:
  Grounds(Split split, const DataFolders& folders);

  // Draws everything from `random`; thread-safe. A photograph that is not installed is replaced by a texture.
  Ground draw(Random& random, int64_t width, int64_t height) const;

  // Photographs of the split that are not on this machine.
  std::vector<std::string> missing() const;

 private:
  struct Photo {
    const Photograph* row = nullptr;
    std::filesystem::path file;
    bool installed = false;
    mutable std::once_flag once;
    mutable Image image;
  };
  Ground photograph(const Photo& photo, Random& random, int64_t width, int64_t height) const;

  Split split_;
  std::vector<std::unique_ptr<Photo>> photos_;
};

// One of the painted textures, by `random`.
Ground texture(Split split, Random& random, int64_t width, int64_t height);

}  // namespace gaze::models
