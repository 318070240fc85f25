#include "models/training/caption_batch.h"

#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

namespace gaze::models {
namespace {

constexpr double kOwns = 0.35;  // share of a cell that makes an object its owner
constexpr double kBare = 0.03;  // and below which the ground is

NounGroups make_groups() {
  NounGroups groups;
  std::map<std::string, int64_t> known;
  const auto group = [&](const Noun& noun) {
    const auto [place, is_new] = known.emplace(noun.singular, static_cast<int64_t>(groups.nouns.size()));
    if (is_new) groups.nouns.push_back(noun);
    return place->second;
  };
  for (const ClassNoun& entry : class_nouns()) groups.of_class.push_back(group(entry.noun_forms()));
  std::set<std::string> extra;
  for (const Stamp& stamp : stamp_table()) {
    const bool seen = stamp.sure_class && class_nouns()[*stamp.sure_class].noun == stamp.noun;
    if (stamp.split == Split::test || seen || !extra.insert(stamp.noun).second) continue;
    groups.of_class.push_back(group(stamp.name()));
  }
  groups.of_class.push_back(groups.ground());
  groups.extra = static_cast<int64_t>(extra.size()) + 1;
  return groups;
}

// The share of each cell that a mask covers, row-major.
std::vector<double> coverage(const Mask& mask, int64_t width, int64_t height, int64_t rows, int64_t cols) {
  std::vector<double> covered(rows * cols, 0.0);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x)
      covered[(y * rows / height) * cols + x * cols / width] += mask[y * width + x];
  }
  const double area = static_cast<double>(width * height) / static_cast<double>(rows * cols);
  for (double& share : covered) share /= area;
  return covered;
}

}  // namespace

int64_t NounGroups::of(const std::string& noun) const {
  const auto found =
      std::find_if(nouns.begin(), nouns.end(), [&](const Noun& one) { return one.singular == noun; });
  return found == nouns.end() ? -1 : found - nouns.begin();
}

const NounGroups& noun_groups() {
  static const NounGroups groups = make_groups();
  return groups;
}

bool SceneRecord::can_be_renamed() const {
  return std::all_of(groups.begin(), groups.end(), [](int64_t g) { return g >= 0; });
}

SceneRecord record_of(const Scene& scene, int64_t rows, int64_t cols) {
  SceneRecord record{facts_of(scene), {}, std::vector<int64_t>(rows * cols, -1)};
  std::vector<double> all(rows * cols, 0.0), most(rows * cols, kOwns);
  for (const SceneObject& object : scene.objects) {
    record.groups.push_back(noun_groups().of(object.noun.singular));
    const std::vector<double> covered =
        coverage(object.mask, scene.image.width, scene.image.height, rows, cols);
    for (int64_t s = 0; s < rows * cols; ++s) {
      all[s] += covered[s];
      if (covered[s] <= most[s]) continue;
      most[s] = covered[s];
      record.cells[s] = record.groups.back();
    }
  }
  for (int64_t s = 0; s < rows * cols; ++s) {
    if (all[s] < kBare) record.cells[s] = noun_groups().ground();
  }
  return record;
}

nlohmann::json to_json(const SceneRecord& record) {
  nlohmann::json objects = nlohmann::json::array(), relations = nlohmann::json::array();
  for (const Noun& noun : record.facts.objects) objects.push_back({noun.singular, noun.plural, noun.article});
  for (const SceneRelation& relation : record.facts.relations)
    relations.push_back({relation.first, relation.name, relation.second});
  return {{"objects", objects},
          {"relations", relations},
          {"ground", record.facts.ground},
          {"groups", record.groups},
          {"cells", record.cells}};
}

SceneRecord scene_record_from_json(const nlohmann::json& json) {
  SceneRecord record;
  for (const auto& noun : json.at("objects"))
    record.facts.objects.push_back({noun.at(0), noun.at(1), noun.at(2)});
  for (const auto& relation : json.at("relations"))
    record.facts.relations.push_back({relation.at(0), relation.at(1), relation.at(2)});
  record.facts.ground = json.at("ground");
  record.groups = json.at("groups").get<std::vector<int64_t>>();
  record.cells = json.at("cells").get<std::vector<int64_t>>();
  return record;
}

Renaming random_renaming(int64_t nouns, Random& random) {
  Renaming renaming{std::vector<int64_t>(nouns)};
  std::iota(renaming.to.begin(), renaming.to.end(), int64_t{0});
  for (int64_t i = nouns - 1; i > 0; --i) std::swap(renaming.to[i], renaming.to[random.below(i + 1)]);
  return renaming;
}

SceneFacts renamed(const SceneRecord& record, const Renaming& renaming) {
  SceneFacts facts = record.facts;
  if (renaming.to.empty()) return facts;
  for (size_t i = 0; i < facts.objects.size(); ++i)
    facts.objects[i] = noun_groups().nouns[renaming.to[record.groups[i]]];
  return facts;
}

at::Tensor rename_cells(const at::Tensor& cells, const std::vector<Renaming>& renamings) {
  const int64_t B = cells.size(0), S = cells.size(1), G = cells.size(2);
  at::Tensor from = torch::arange(G).repeat({B, 1});  // [B, G]: where each noun's evidence comes from
  auto rows = from.accessor<int64_t, 2>();
  for (int64_t b = 0; b < B; ++b) {
    const std::vector<int64_t>& to = renamings[b].to;
    for (size_t g = 0; g < to.size(); ++g) rows[b][to[g]] = static_cast<int64_t>(g);
  }
  return cells.gather(2, from.unsqueeze(1).expand({B, S, G}));
}

TokenRows token_rows(const std::vector<std::string>& captions, const Vocabulary& vocabulary,
                     int64_t max_tokens) {
  std::vector<std::vector<int64_t>> words;
  size_t longest = 0;
  for (const std::string& caption : captions) {
    words.push_back(vocabulary.encode(caption));
    if (static_cast<int64_t>(words.back().size()) >= max_tokens) words.back().resize(max_tokens - 1);
    longest = std::max(longest, words.back().size());
  }
  const auto B = static_cast<int64_t>(captions.size()), T = static_cast<int64_t>(longest) + 1;
  TokenRows rows{torch::full({B, T}, Vocabulary::kPad, torch::kLong),
                 torch::full({B, T}, TokenRows::kIgnored, torch::kLong)};
  auto inputs = rows.inputs.accessor<int64_t, 2>();
  auto targets = rows.targets.accessor<int64_t, 2>();
  for (int64_t b = 0; b < B; ++b) {
    const auto length = static_cast<int64_t>(words[b].size());
    inputs[b][0] = Vocabulary::kStart;
    for (int64_t t = 0; t < length; ++t) inputs[b][t + 1] = targets[b][t] = words[b][t];
    targets[b][length] = Vocabulary::kEnd;
  }
  return rows;
}

Vocabulary scene_vocabulary(const std::vector<SceneRecord>& records) {
  std::vector<std::string> nouns, captions = {"a an two three"};
  for (const Noun& noun : noun_groups().nouns) {
    nouns.push_back(noun.singular);
    nouns.push_back(noun.plural);
  }
  for (const SceneRecord& record : records) {
    for (std::string& caption : scene_captions(record.facts)) captions.push_back(std::move(caption));
  }
  return Vocabulary::from_captions(captions, nouns);
}

bool names_all(const std::string& caption, const SceneFacts& facts) {
  std::multiset<std::string> said, there;
  for (const NounPhrase& phrase : parse_caption(words_of(caption)).phrases) {
    for (int64_t i = 0; i < phrase.count; ++i) said.insert(phrase.name);
  }
  const bool counted =
      facts.relations.empty() && facts.objects.size() > 1;  // several of a kind are named in the plural
  for (const Noun& noun : facts.objects) there.insert(counted ? noun.plural : noun.singular);
  return said == there;
}

}  // namespace gaze::models
