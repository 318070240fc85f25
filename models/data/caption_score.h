// A caption held against the scene it was made for. Includes no torch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/data/scene_captions.h"
#include "models/data/scenes.h"

namespace gaze::models {

struct CaptionScore {
  std::vector<int64_t> phrase_of;  // for each object of the scene: the phrase that names it, or -1
  int64_t named = 0;               // objects that are named
  bool nouns_right = false;        // each object is named, as often as it is there, and nothing else is
  bool relations_right =
      false;  // nouns_right, as many relations are stated as the scene has, and all that are stated hold
};

// A noun is right if it is the object's noun, one of its accepted_nouns(), or their plural after a number. A
// relation is right if the scene states it or its inverse, or if relation_holds() says so of the two masks.
CaptionScore score_caption(const ParsedCaption& caption, const Scene& scene);

// Whether `noun`, or its plural, stands in the caption as whole words.
bool mentions(const std::string& caption, const std::string& noun);

}  // namespace gaze::models
