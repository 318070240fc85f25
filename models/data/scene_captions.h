// The facts of a scene in words, and words held against the facts. Includes no torch.
//
//   caption  := [ "there is" | "there are" | "a picture of" ] things [ place ]
//   things   := thing | ("two" | "three") plural | thing relation thing [ ["and"] relation thing ]
//   thing    := [ "a" | "an" ] noun
//   relation := "left of" | "right of" | "above" | "below" | "in front of" | ...      ("to the left of" is
//   the same) place    := ("on" | "in" | "against") ground
// After "and" a relation speaks of the first thing again: "a cat left of a dog and above a ball"; without it,
// of the thing just named: "a cat left of a dog above a ball".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/data/tables.h"

namespace gaze::models {

struct SceneRelation {
  int64_t first = 0;  // index of an object
  std::string name;   // "left of", "right of", "above", "below", "in front of", "behind", "next to"
  int64_t second = 0;
};

// What a caption of a scene says.
struct SceneFacts {
  std::vector<Noun> objects;  // in the order of mention
  std::vector<SceneRelation>
      relations;       // object i + 1 is the `second` of relation i; none for several of one kind
  std::string ground;  // "grass"; empty: not mentioned
};

// Five wordings of the same facts, always in the same order, the plainest first. Objects are named in their
// order, so a learner can rename them by changing `objects`. Objects that have all the same noun are counted:
// "two dogs on grass".
std::vector<std::string> scene_captions(const SceneFacts& facts);

// "grass" -> "on grass", "the sky" -> "against the sky".
std::string ground_phrase(const std::string& ground);

// A noun phrase of a caption: words first .. last - 1, `count` things called `name`.
struct NounPhrase {
  std::string name;  // without its article or number
  int64_t count = 1;
  bool plural = false;
  int64_t first = 0, last = 0;
};

// A caption taken apart. Relations index `phrases`.
struct ParsedCaption {
  std::vector<NounPhrase> phrases;
  std::vector<SceneRelation> relations;
  std::string ground;
};

ParsedCaption parse_caption(const std::vector<std::string>& words);

// Splits at spaces.
std::vector<std::string> words_of(const std::string& caption);

}  // namespace gaze::models
