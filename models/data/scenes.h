// Scenes: pictures composed of cut-out photographs on grounds, with captions and masks, all by seed. Includes
// no torch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/data/photographs.h"
#include "models/data/scene_captions.h"
#include "models/data/scene_geometry.h"
#include "models/data/tables.h"
#include "models/image/image.h"

namespace gaze::models {

struct SceneObject {
  Noun noun;  // as in the captions
  const Stamp* stamp =
      nullptr;  // of stamp_table(); null where a scene read from disk names one that is not in it
  Mask mask;    // where it is visible
};

struct Scene {
  Image image;
  std::vector<SceneObject> objects;      // in the order of mention, which is from left to right, from top to
                                         // bottom, from front to back
  std::vector<SceneRelation> relations;  // none with one object or several of a kind
  std::string ground;                    // "grass"
  std::vector<std::string> captions;     // wordings of the same facts: scene_captions(facts_of(scene))
  bool held_out = false;                 // at least half of its stamps were kept from training
};

struct SceneOptions {
  Split split = Split::train;
  uint64_t seed = 1;
  int64_t size = 320;        // longer side
  bool vary_aspect = false;  // else pictures are square; with it the shorter side is 0.6 to 1 of the longer
  int64_t min_objects = 1, max_objects = 3;
  // val and test: the share of scenes at least half of whose stamps are held out from training; the others
  // use the training stamps in new poses. Grounds are always the split's own.
  double held_out = 0.5;
  // The share of one-object scenes that are close-ups: the object takes 25 to 85 % of the picture, as a
  // photographer's does.
  double close_ups = 0;
  std::vector<std::string> nouns;  // only stamps of these nouns; empty: all
  DataFolders folders;
};

SceneFacts facts_of(const Scene& scene);

class SceneComposer {
 public:
  // Throws ArgumentError for impossible options (also nouns of no training stamp), FileError naming the
  // package to install where stamps are missing.
  explicit SceneComposer(const SceneOptions& options);
  ~SceneComposer();
  SceneComposer(SceneComposer&&) noexcept;
  SceneComposer& operator=(SceneComposer&&) noexcept;

  // Scene `index` of this seed and split: the same on every machine and in any order (JPEG grounds as the
  // machine's decoder reads them); thread-safe. A ground that is not installed is replaced by a painted one,
  // everything else stays as it was.
  Scene compose(uint64_t index) const;

  const SceneOptions& options() const;
  // Photographic grounds of the split that this machine lacks.
  std::vector<std::string> missing_grounds() const;

 private:
  struct Sources;
  std::unique_ptr<Sources> sources_;
};

}  // namespace gaze::models
