// The composed scenes of one split, with the frozen network's evidence of each.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "models/backbone/backbone.h"
#include "models/training/caption_batch.h"
#include "models/training/caption_recipe.h"
#include "models/training/evidence_cache.h"

namespace gaze::models {

struct SceneSet {
  std::unique_ptr<SceneComposer> composer;
  std::vector<SceneRecord> records;
  std::unique_ptr<EvidenceCache> evidence;
};

// What reads the scenes: the frozen network, its input, and the cells a side of its last stage.
struct SceneReader {
  std::shared_ptr<Backbone> backbone;
  Preprocessing preprocessing;
  int64_t grid = 0;
  bool filled = false;  // its weights brought blocks in its slots
};

// Composes scenes 0 .. count - 1 of the recipe once for their records and evidence, kept as
// `folder`/evidence.*; what a run before this one kept there is read instead. `progress` is called now and
// then with how many are done. Throws FileError.
SceneSet make_scene_set(const CaptionRecipe& recipe, Split split, int64_t count, const SceneReader& reader,
                        const std::filesystem::path& folder, const std::function<void(int64_t)>& progress);

// Removes what make_scene_set() keeps in `folder`.
void remove_scene_sets(const std::filesystem::path& folder);

// The scenes composed again, as the network's input: [B, 3, size, size].
at::Tensor scene_inputs(const SceneSet& set, const std::vector<int64_t>& scenes,
                        const Preprocessing& preprocessing);

}  // namespace gaze::models
