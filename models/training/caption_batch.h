// Scenes as the learner sees them: facts, renamed classes, token rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/data/scenes.h"
#include "models/decoder/vocabulary.h"
#include "modules/core/random.h"

namespace gaze::models {

// The nouns that a cell can speak for: every class noun, every noun of the training stamps, and last the bare
// ground.
struct NounGroups {
  std::vector<Noun> nouns;        // [G - 1]
  std::vector<int64_t> of_class;  // [K + E] the noun of each ImageNet class, then of each extra class
  int64_t extra = 0;  // E: nouns of stamps that the ImageNet network is not sure of, and the ground

  int64_t size() const { return static_cast<int64_t>(nouns.size()) + 1; }
  int64_t ground() const { return static_cast<int64_t>(nouns.size()); }
  int64_t of(const std::string& noun) const;  // -1 for one that is not there
};
const NounGroups& noun_groups();

// What of a scene the learner keeps.
struct SceneRecord {
  SceneFacts facts;
  std::vector<int64_t> groups;  // of each object's noun; -1 where it has none
  std::vector<int64_t>
      cells;  // [rows * cols] the group that owns each cell: an object that covers more than 35 % of it, the
              // ground where objects cover less than 3 %, -1 where neither holds

  bool can_be_renamed() const;  // every object's noun has a group
};
SceneRecord record_of(const Scene& scene, int64_t rows, int64_t cols);
nlohmann::json to_json(const SceneRecord& record);
SceneRecord scene_record_from_json(const nlohmann::json& json);

// Renaming: the nouns' evidence is shuffled, to[g] being where noun g's goes, and the caption's nouns go with
// it; the ground stays. The learner so meets every noun under every other noun's evidence, and learns to read
// the evidence, not the pictures.
struct Renaming {
  std::vector<int64_t> to;  // empty: as it is
};
Renaming random_renaming(int64_t nouns, Random& random);
SceneFacts renamed(const SceneRecord& record, const Renaming& renaming);

// cells [B, S, G], each row's nouns moved as its renaming says -> [B, S, G].
at::Tensor rename_cells(const at::Tensor& cells, const std::vector<Renaming>& renamings);

// Captions as teacher forcing wants them.
struct TokenRows {
  at::Tensor inputs;   // [B, T] int64: start token, words; padded
  at::Tensor targets;  // [B, T] int64: words, end token; kIgnored where padded
  static constexpr int64_t kIgnored = -100;
};
TokenRows token_rows(const std::vector<std::string>& captions, const Vocabulary& vocabulary,
                     int64_t max_tokens);

// Every word that the captions of these scenes have, under any renaming; a noun of several words is one
// entry.
Vocabulary scene_vocabulary(const std::vector<SceneRecord>& records);

// Whether a caption names just these objects by their own nouns, as often as they are there.
bool names_all(const std::string& caption, const SceneFacts& facts);

}  // namespace gaze::models
