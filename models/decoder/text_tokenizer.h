// Texts that are translated <-> ids. Includes no torch.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/decoder/vocabulary.h"

namespace gaze::models {

// A piece of a text: what the vocabulary knows it by, and characters begin .. end-1 of the text (from 0;
// characters as modules/core/utf8.h has them).
struct TextToken {
  std::string text;
  int64_t begin = 0, end = 0;
};

class TextTokenizer {
 public:
  // character: every character in its own case, white space as U+2581 "▁"; for Chinese and for dates.
  // word_punctuation: words in lower case (ASCII letters), where a word is a run of letters and digits, with
  // apostrophes between letters ("can't"; U+2019 becomes "'"); every other character that is not white space,
  // Chinese ones too, is a token of its own.
  enum class Kind { character, word_punctuation };

  // The tokens that the texts together have at least `min_count` times; the others become kUnknown. Throws
  // ArgumentError for a min_count below 1.
  static TextTokenizer from_texts(Kind kind, const std::vector<std::string>& texts, int64_t min_count = 1);
  // {"kind": "character" or "word_punctuation", "data": [tokens in id order, the special ones first]}; throws
  // ArgumentError naming what is wrong.
  static TextTokenizer from_json(const nlohmann::json& json);
  nlohmann::json to_json() const;

  Kind kind() const { return kind_; }
  // Ids 0..3 are <pad>, <start>, <end>, <unk>.
  const Vocabulary& vocabulary() const { return vocabulary_; }

  // In the order of the text; spans never overlap.
  std::vector<TextToken> tokens(const std::string& text) const;
  // The tokens' ids, without start and end.
  std::vector<int64_t> encode(const std::string& text) const;
  // Special entries dropped. Characters are joined, "▁" is a space; words are joined by spaces, but for
  // Chinese characters, closing punctuation and what follows an opening bracket or quotation mark. Throws
  // ArgumentError for an id outside the vocabulary.
  std::string decode(const std::vector<int64_t>& ids) const;

 private:
  TextTokenizer(Kind kind, Vocabulary vocabulary) : kind_(kind), vocabulary_(std::move(vocabulary)) {}

  Kind kind_;
  Vocabulary vocabulary_;
};

}  // namespace gaze::models
