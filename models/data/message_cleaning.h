// Messages of programs, made into plain sentences. Includes no torch.
#pragma once

#include <optional>
#include <string>

#include "models/data/text_pairs.h"

namespace gaze::models {

// The pair of an English message and its Chinese translation, cleaned; nothing where it is no plain sentence.
// Taken out: the marks of accelerators ("_Save", "&Save", "保存(_S)"), white space at the ends and more than
// one in a row, white space between Chinese characters. Letters and digits of full width become ASCII. Left
// out are pairs with
//   a sign of format strings, markup and the like (any of % { } [ ] < > @ \ | =, and ~a, &amp;), an address
//   (://), more than one line, a list of key words (a;b;c), an underscore within a name; no ASCII letter in
//   the English or a Chinese character in it, no Chinese character in the Chinese; more than 120 characters
//   in English or 60 in Chinese; more than 3 English words for a Chinese character, which is no translation
//   of the whole.
std::optional<TextPair> clean_message(const std::string& english, const std::string& chinese);

}  // namespace gaze::models
