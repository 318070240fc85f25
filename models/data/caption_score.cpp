#include "models/data/caption_score.h"

#include <algorithm>

namespace gaze::models {
namespace {

bool names(const NounPhrase& phrase, const SceneObject& object) {
  std::vector<std::string> accepted = {object.noun.singular};
  if (object.stamp) {
    const std::vector<std::string> more = accepted_nouns(*object.stamp);
    accepted.insert(accepted.end(), more.begin(), more.end());
  }
  if (phrase.plural && phrase.name == object.noun.plural) return true;
  return std::any_of(accepted.begin(), accepted.end(), [&](const std::string& noun) {
    return phrase.name == (phrase.plural ? plural_of(noun) : noun);
  });
}

bool stated_by(const Scene& scene, int64_t first, const std::string& name, int64_t second) {
  return std::any_of(scene.relations.begin(), scene.relations.end(), [&](const SceneRelation& relation) {
    return (relation.first == first && relation.second == second && relation.name == name) ||
           (relation.first == second && relation.second == first && relation.name == inverse_relation(name));
  });
}

class Scorer {
 public:
  Scorer(const ParsedCaption& caption, const Scene& scene) : caption_(caption), scene_(scene) {
    for (const SceneObject& object : scene.objects) {
      extents_.push_back(extent_of(object.mask, scene.image.width, scene.image.height));
    }
    for (const NounPhrase& phrase : caption.phrases) left_.push_back(phrase.count);
  }

  // Tries every way to give phrases to objects: at most three of each.
  CaptionScore best() {
    assignment_.assign(scene_.objects.size(), -1);
    best_.phrase_of = assignment_;
    try_object(0);
    return best_;
  }

 private:
  void try_object(size_t object) {
    if (object == scene_.objects.size()) {
      weigh();
      return;
    }
    try_object(object + 1);
    for (size_t p = 0; p < caption_.phrases.size(); ++p) {
      if (left_[p] == 0 || !names(caption_.phrases[p], scene_.objects[object])) continue;
      --left_[p];
      assignment_[object] = static_cast<int64_t>(p);
      try_object(object + 1);
      assignment_[object] = -1;
      ++left_[p];
    }
  }

  void weigh() {
    CaptionScore score;
    score.phrase_of = assignment_;
    score.named =
        std::count_if(assignment_.begin(), assignment_.end(), [](int64_t phrase) { return phrase >= 0; });
    const bool nothing_else = std::all_of(left_.begin(), left_.end(), [](int64_t left) { return left == 0; });
    score.nouns_right = nothing_else && score.named == static_cast<int64_t>(assignment_.size());
    score.relations_right = score.nouns_right && relations_hold();
    const auto rank = [](const CaptionScore& s) {
      return s.named * 4 + s.nouns_right * 2 + s.relations_right;
    };
    if (rank(score) > rank(best_)) best_ = score;
  }

  bool relations_hold() const {
    if (caption_.relations.size() < scene_.relations.size()) return false;
    return std::all_of(caption_.relations.begin(), caption_.relations.end(),
                       [&](const SceneRelation& relation) {
                         const int64_t first = object_of(relation.first), second = object_of(relation.second);
                         return stated_by(scene_, first, relation.name, second) ||
                                relation_holds(relation.name, extents_[static_cast<size_t>(first)],
                                               extents_[static_cast<size_t>(second)], scene_.image.width,
                                               scene_.image.height);
                       });
  }

  int64_t object_of(int64_t phrase) const {
    return std::find(assignment_.begin(), assignment_.end(), phrase) - assignment_.begin();
  }

  const ParsedCaption& caption_;
  const Scene& scene_;
  std::vector<Extent> extents_;
  std::vector<int64_t> left_;  // how often each phrase may still be used
  std::vector<int64_t> assignment_;
  CaptionScore best_;
};

bool has_words(const std::vector<std::string>& words, const std::vector<std::string>& wanted) {
  return !wanted.empty() &&
         std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) != words.end();
}

}  // namespace

CaptionScore score_caption(const ParsedCaption& caption, const Scene& scene) {
  return Scorer(caption, scene).best();
}

bool mentions(const std::string& caption, const std::string& noun) {
  const std::vector<std::string> words = words_of(caption);
  return has_words(words, words_of(noun)) || has_words(words, words_of(plural_of(noun)));
}

}  // namespace gaze::models
