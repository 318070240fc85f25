#include "apps/gaze/scene_tally.h"

#include "models/metrics/pointing.h"

namespace gaze::apps {
namespace {

using nlohmann::json;

// The sum of the maps of words first .. last - 1, row by row.
std::vector<float> phrase_map(const models::Caption& caption, const models::NounPhrase& phrase) {
  torch::Tensor sum;
  for (int64_t i = phrase.first; i < phrase.last; ++i) {
    const torch::Tensor& map = caption.words.at(static_cast<size_t>(i)).map;
    sum = sum.defined() ? sum + map : map;
  }
  sum = sum.to(torch::kFloat).contiguous();
  return {sum.data_ptr<float>(), sum.data_ptr<float>() + sum.numel()};
}

// Where the objects that the phrase names are visible.
models::Mask phrase_mask(const models::Scene& scene, const models::CaptionScore& score, int64_t phrase) {
  models::Mask mask(scene.objects.front().mask.size(), 0);
  for (size_t o = 0; o < scene.objects.size(); ++o) {
    if (score.phrase_of[o] != phrase) continue;
    for (size_t p = 0; p < mask.size(); ++p) mask[p] |= scene.objects[o].mask[p];
  }
  return mask;
}

json share(double sum, int64_t count) {
  return count > 0 ? json(sum / static_cast<double>(count)) : json();
}

}  // namespace

models::CaptionScore SceneTally::add(const models::Scene& scene, const models::CaptionedImage& result) {
  const models::Caption& caption = result.captions.front();
  std::vector<std::string> words;
  for (const models::CaptionWord& word : caption.words) words.push_back(word.text);
  const models::ParsedCaption parsed = models::parse_caption(words);
  models::CaptionScore score = models::score_caption(parsed, scene);

  Sums& sums = sums_[{static_cast<int64_t>(scene.objects.size()), scene.held_out}];
  sums.scenes += 1;
  sums.objects += static_cast<int64_t>(scene.objects.size());
  sums.named += score.named;
  sums.nouns_right += score.nouns_right;
  if (!scene.relations.empty() && score.nouns_right) {
    sums.with_relations += 1;
    sums.relations_right += score.relations_right;
  }
  const auto to_image = result.geometry.cell_to_image(result.rows, result.cols).numbers();
  for (size_t p = 0; p < parsed.phrases.size(); ++p) {
    const int64_t phrase = static_cast<int64_t>(p);
    if (std::find(score.phrase_of.begin(), score.phrase_of.end(), phrase) == score.phrase_of.end()) continue;
    const models::Mask mask = phrase_mask(scene, score, phrase);
    const models::PointingTarget target{mask, scene.image.width, scene.image.height};
    sums.words += 1;
    sums.pointing += models::pointing_hit(phrase_map(caption, parsed.phrases[p]), result.rows, result.cols,
                                          to_image, target);
    sums.centre += models::centre_hit(target);
  }
  sums.pairs.push_back(pairs_.size());
  pairs_.push_back({caption.text, scene.captions});
  return score;
}

std::vector<json> SceneTally::lines() const {
  const models::CiderD cider = models::cider_d(pairs_);
  std::vector<json> lines;
  for (const auto& [group, sums] : sums_) {
    double cider_sum = 0;
    for (size_t pair : sums.pairs) cider_sum += cider.scores[pair];
    lines.push_back(
        {{"n", sums.scenes},
         {"objects", group.first},
         {"held_out", group.second},
         {"nouns_right", share(static_cast<double>(sums.nouns_right), sums.scenes)},
         {"relations_right", share(static_cast<double>(sums.relations_right), sums.with_relations)},
         {"cider_d", share(cider_sum, sums.scenes)},
         {"pointing", share(sums.pointing, sums.words)},
         {"pointing_centre", share(sums.centre, sums.words)},
         {"named", share(static_cast<double>(sums.named), sums.objects)},
         {"relations", sums.with_relations},
         {"words", sums.words}});
  }
  return lines;
}

}  // namespace gaze::apps
