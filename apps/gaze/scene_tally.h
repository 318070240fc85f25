// What captions of scenes are worth, summed up by number of objects and by whether the stamps were held out.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/captioner/captioner.h"
#include "models/data/caption_score.h"
#include "models/metrics/cider_d.h"

namespace gaze::apps {

class SceneTally {
 public:
  // Scores the best caption; returns its score.
  models::CaptionScore add(const models::Scene& scene, const models::CaptionedImage& result);

  // A line for each number of objects and each kind of stamps: {n, objects, held_out, nouns_right,
  // relations_right, cider_d, pointing, pointing_centre, named, relations, words}. nouns_right: share of the
  // n scenes; relations_right: share of the scenes with a relation whose nouns are right (`relations` of
  // them), null without any; cider_d: mean over the scenes, document frequencies over all that were added;
  // pointing: mean over the noun phrases found (`words` of them), each phrase's map being the mean over its
  // words, null without any; named: share of the objects that are named.
  std::vector<nlohmann::json> lines() const;

 private:
  struct Sums {
    int64_t scenes = 0, nouns_right = 0, with_relations = 0, relations_right = 0, objects = 0, named = 0,
            words = 0;
    double pointing = 0, centre = 0;
    std::vector<size_t> pairs;
  };

  std::map<std::pair<int64_t, bool>, Sums> sums_;  // by objects, held out
  std::vector<models::CaptionPair> pairs_;
};

}  // namespace gaze::apps
