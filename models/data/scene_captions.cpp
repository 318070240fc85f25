#include "models/data/scene_captions.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

namespace gaze::models {
namespace {

using Words = std::vector<std::string>;

struct Phrase {
  const char* text;
  const char* relation;
};

// Longest first, so that "to the left of" is not read as "left of" after a noun "to the".
constexpr std::array<Phrase, 10> kRelations = {{{"to the left of", "left of"},
                                                {"to the right of", "right of"},
                                                {"in front of", "in front of"},
                                                {"left of", "left of"},
                                                {"right of", "right of"},
                                                {"next to", "next to"},
                                                {"above", "above"},
                                                {"below", "below"},
                                                {"behind", "behind"},
                                                {"beside", "next to"}}};
constexpr std::array<const char*, 3> kOpenings = {"there is", "there are", "a picture of"};
constexpr std::array<const char*, 4> kNumbers = {"", "one", "two", "three"};

bool starts_at(const Words& words, size_t at, size_t end, const std::string& text, size_t& length) {
  const Words wanted = words_of(text);
  if (at + wanted.size() > end) return false;
  length = wanted.size();
  return std::equal(wanted.begin(), wanted.end(), words.begin() + static_cast<int64_t>(at));
}

std::string joined(const Words& words, size_t first, size_t last) {
  std::string text;
  for (size_t i = first; i < last; ++i) text += (i > first ? " " : "") + words[i];
  return text;
}

// "a cat left of a dog and above a ball", with "to the left of" where `full`.
std::string things(const SceneFacts& facts, bool full) {
  const std::vector<Noun>& objects = facts.objects;
  if (objects.empty()) return "";
  const bool alike = objects.size() > 1 && std::all_of(objects.begin(), objects.end(), [&](const Noun& noun) {
                       return noun.singular == objects[0].singular;
                     });
  if (alike) return std::string(kNumbers.at(objects.size())) + " " + objects[0].plural;
  std::string text = objects[0].one();
  for (size_t i = 1; i < objects.size(); ++i) {
    if (i > facts.relations.size()) {  // nothing is said of this one but that it is there
      text += " and " + objects[i].one();
      continue;
    }
    const SceneRelation& relation = facts.relations[i - 1];
    const bool of_the_first_again = i > 1 && relation.first == 0;
    const bool sideways = relation.name == "left of" || relation.name == "right of";
    text += (of_the_first_again ? " and " : " ") + std::string(full && sideways ? "to the " : "") +
            relation.name + " " + objects[i].one();
  }
  return text;
}

}  // namespace

std::string ground_phrase(const std::string& ground) {
  static const std::set<std::string> inside = {"water",    "the sea",  "a corn field", "a stream",
                                               "a reef",   "a canyon", "a street",     "a town",
                                               "a garden", "a forest"};
  static const std::set<std::string> behind = {"the sky",      "a sunset",           "mountains",
                                               "trees",        "a brick wall",       "a wall",
                                               "a blackboard", "a plain background", "a blurred background"};
  if (ground.empty()) return "";
  return (inside.count(ground) ? "in " : behind.count(ground) ? "against " : "on ") + ground;
}

std::vector<std::string> scene_captions(const SceneFacts& facts) {
  const std::string said = things(facts, false),
                    place = facts.ground.empty() ? "" : " " + ground_phrase(facts.ground);
  const bool counted = said.rfind("two ", 0) == 0 || said.rfind("three ", 0) == 0;
  const std::string full = things(facts, true);
  return {said + place, said, (counted ? "there are " : "there is ") + said + place,
          (full == said ? "a picture of " : "") + full + place, "a picture of " + said};
}

std::vector<std::string> words_of(const std::string& caption) {
  std::istringstream stream(caption);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

ParsedCaption parse_caption(const std::vector<std::string>& words) {
  ParsedCaption parsed;
  size_t begin = 0, end = words.size(), length = 0;
  for (const char* opening : kOpenings) {
    if (starts_at(words, begin, end, opening, length)) {
      begin += length;
      break;
    }
  }
  // The place is what follows the last "on", "in" (not "in front of") or "against".
  for (size_t i = words.size(); i-- > begin + 1;) {
    const bool place = words[i] == "on" || words[i] == "against" ||
                       (words[i] == "in" && !starts_at(words, i, end, "in front of", length));
    if (!place) continue;
    parsed.ground = joined(words, i + 1, end);
    end = i;
    break;
  }

  bool again = false;    // the next relation speaks of the first thing
  std::string pending;   // the relation before the next phrase
  size_t start = begin;  // of the phrase being read
  const auto close = [&](size_t at) {
    size_t first = start;
    NounPhrase phrase;
    if (first < at && (words[first] == "a" || words[first] == "an")) {
      ++first;
    } else if (first < at) {
      const auto number = std::find(kNumbers.begin() + 1, kNumbers.end(), words[first]);
      if (number != kNumbers.end()) {
        phrase.count = number - kNumbers.begin();
        phrase.plural = phrase.count > 1;
        ++first;
      }
    }
    if (first >= at) return;
    phrase.name = joined(words, first, at);
    phrase.first = static_cast<int64_t>(first);
    phrase.last = static_cast<int64_t>(at);
    const int64_t index = static_cast<int64_t>(parsed.phrases.size());
    if (!pending.empty() && index > 0) parsed.relations.push_back({again ? 0 : index - 1, pending, index});
    pending.clear();
    again = false;
    parsed.phrases.push_back(phrase);
  };

  for (size_t i = begin; i < end;) {
    bool relation = false;
    for (const Phrase& candidate : kRelations) {
      if (!starts_at(words, i, end, candidate.text, length)) continue;
      close(i);
      pending = candidate.relation;
      i += length;
      start = i;
      relation = true;
      break;
    }
    if (relation) continue;
    if (words[i] == "and" || words[i] == ",") {
      close(i);
      again = true;
      start = i + 1;
    }
    ++i;
  }
  close(end);
  return parsed;
}

}  // namespace gaze::models
