// Small English sentences with their Chinese translations and alignments. Includes no torch.
#pragma once

#include <string>
#include <vector>

#include "models/data/text_pairs.h"

namespace gaze::models {

// Someone, a verb and a thing: "I love cats" -> "我喜欢猫", "she draws stars" -> "她画星星"; every
// combination of the words, in their order. Each Chinese word is linked with the English word it translates.
// `locale` is zh_CN or zh_TW.
std::vector<TextPair> simple_sentences(const std::string& locale);

}  // namespace gaze::models
