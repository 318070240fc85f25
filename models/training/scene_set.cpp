#include "models/training/scene_set.h"

#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "models/data/scenes.h"
#include "modules/core/atomic_file.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

fs::path evidence_file(const fs::path& folder, Split split) {
  return folder / (split == Split::train ? "evidence.train" : "evidence.val");
}

SceneOptions scene_options(const CaptionRecipe& recipe, Split split) {
  SceneOptions options;
  options.split = split;
  options.seed = recipe.seed;
  options.size = recipe.size;
  options.min_objects = recipe.min_objects;
  options.max_objects = recipe.max_objects;
  if (split == Split::train) options.close_ups = recipe.close_ups;
  return options;
}

// What the evidence depends on.
std::string evidence_key(const CaptionRecipe& recipe, Split split, int64_t count) {
  return nlohmann::json{recipe.backbone,    split_text(split),  count,           recipe.seed, recipe.size,
                        recipe.min_objects, recipe.max_objects, recipe.close_ups}
      .dump();
}

}  // namespace

SceneSet make_scene_set(const CaptionRecipe& recipe, Split split, int64_t count, const SceneReader& reader,
                        const fs::path& folder, const std::function<void(int64_t)>& progress) {
  SceneSet set;
  set.composer = std::make_unique<SceneComposer>(scene_options(recipe, split));
  const fs::path path = evidence_file(folder, split), records = path.string() + ".json";
  set.evidence = std::make_unique<EvidenceCache>(path, evidence_key(recipe, split, count), count,
                                                 reader.grid * reader.grid, reader.backbone->classes());
  if (set.evidence->finished()) {
    std::ifstream stream(records);
    for (const auto& record : nlohmann::json::parse(stream))
      set.records.push_back(scene_record_from_json(record));
    return set;
  }
  const torch::NoGradGuard no_grad;
  nlohmann::json lines = nlohmann::json::array();
  for (int64_t i = 0; i < count; ++i) {
    const Scene scene = set.composer->compose(i);
    set.records.push_back(record_of(scene, reader.grid, reader.grid));
    lines.push_back(to_json(set.records.back()));
    const torch::Tensor input = preprocess(scene.image, reader.preprocessing).input;
    set.evidence->put(i, reader.backbone->class_evidence(input.unsqueeze(0))[0]);
    if (i % 100 == 99) progress(i + 1);
  }
  write_atomically(records, lines.dump());
  set.evidence->finish();
  return set;
}

void remove_scene_sets(const fs::path& folder) {
  for (const Split split : {Split::train, Split::val}) {
    for (const char* end : {"", ".json", ".finished"})
      fs::remove(evidence_file(folder, split).string() + end);
  }
}

torch::Tensor scene_inputs(const SceneSet& set, const std::vector<int64_t>& scenes,
                           const Preprocessing& preprocessing) {
  std::vector<torch::Tensor> inputs;
  for (const int64_t i : scenes)
    inputs.push_back(preprocess(set.composer->compose(i).image, preprocessing).input);
  return torch::stack(inputs);
}

}  // namespace gaze::models
