// The words that BERT's WordPiece makes pieces of. Includes no torch.
#pragma once

#include <string>
#include <vector>

namespace gaze::models {

// The words of a text (UTF-8), as BasicTokenizer(do_lower_case=True) of google-research/bert,
// tokenization.py:
//   1. bytes that are not UTF-8, U+0000, U+FFFD, controls and format characters (Cc, Cf) are dropped, but for
//      tabs and line ends, which are white space like Z*;
//   2. a Chinese character (the CJK Unified Ideographs to extension E, and the compatibility ideographs) is a
//      word;
//   3. a word is lower-cased and decomposed, and loses its accents (Mn);
//   4. a punctuation mark (P*, and every ASCII character that is no letter, digit or control) is a word.
// Unassigned and private-use characters stay, so that their word is unknown; Hugging Face's version drops
// them. That one also lower-cases each character by itself, and so has no final sigma.
std::vector<std::string> bert_words(const std::string& text);

}  // namespace gaze::models
