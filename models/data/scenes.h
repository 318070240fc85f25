// Scenes: pictures composed of cut-out photographs on grounds, with captions and masks, all by seed. No torch in the interface.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "models/data/tables.h"
#include "models/image/image.h"

namespace gaze::models {

struct SceneObject {
  std::string noun;             // as in the captions
  const Stamp* stamp = nullptr;
  std::vector<uint8_t> mask;    // height * width, 1 where it is visible
};

struct SceneRelation {
  int64_t first = 0;
  std::string name;  // "left of", "right of", "above", "below", "in front of", "next to" ...
  int64_t second = 0;
};

struct Scene {
  Image image;
  std::vector<SceneObject> objects;      // most prominent first
  std::vector<SceneRelation> relations;  // none with one object
  std::string ground;                    // "grass"
  std::vector<std::string> captions;     // several wordings of the same facts
};

struct SceneOptions {
  Split split = Split::train;
  uint64_t seed = 1;
  int64_t size = 320;              // pictures are size x size unless aspect varies
  bool vary_aspect = false;
  int64_t min_objects = 1, max_objects = 3;
  double held_out = 0.5;           // test split: the share of scenes whose objects are held-out stamps
  std::filesystem::path stamps;    // folder of tuxpaint-stamps-default; empty: where the package puts it
};

// The wordings of a scene's facts. `nouns` replaces each object's noun (by order), so that a learner can rename them.
std::vector<std::string> scene_captions(const std::vector<std::string>& nouns, const std::vector<SceneRelation>& relations,
                                        const std::string& ground);

class SceneComposer {
 public:
  // Reads stamps and grounds once. Throws FileError naming the package to install.
  explicit SceneComposer(const SceneOptions& options);
  ~SceneComposer();

  // Scene `index` of this seed: the same on every machine and in any order; thread-safe.
  Scene compose(uint64_t index) const;

 private:
  struct Sources;
  std::unique_ptr<Sources> sources_;
  SceneOptions options_;
};

}  // namespace gaze::models
