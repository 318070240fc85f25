// The parts of a text that byte-level BPE stays within. Includes no torch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gaze::models {

// The text cut as GPT-2's pattern cuts it (Radford et al. 2019, encoder.py), nothing left out:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// so a word takes the space before it along, and of more white space only the last character may be that one.
// A byte that is not UTF-8 is neither letter, digit nor white space. The views point into `text`.
std::vector<std::string_view> gpt2_words(std::string_view text);

}  // namespace gaze::models
