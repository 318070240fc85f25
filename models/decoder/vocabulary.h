// Words <-> ids. Includes no torch.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/decoder/tokenizer.h"

namespace gaze::models {

// The words between white space, ASCII letters in lower case; words of other scripts pass as they are.
std::vector<std::string> split_words(const std::string& text);

// A word vocabulary. Ids 0..3 are <pad>, <start>, <end>, <unk>; the others are lower-case words in a fixed
// order. An entry may be a phrase, words joined by single spaces ("red panda"): it is one token.
class Vocabulary : public Tokenizer {
 public:
  static constexpr int64_t kPad = 0, kStart = 1, kEnd = 2, kUnknown = 3;
  static constexpr int64_t kSpecials = 4;

  // The four special entries alone.
  Vocabulary();

  // `phrases`, and every distinct word of `captions` outside of them (split on white space, in lower case),
  // sorted.
  static Vocabulary from_captions(const std::vector<std::string>& captions,
                                  const std::vector<std::string>& phrases = {});
  // The distinct ones of `tokens`, sorted: texts without white space, in their own case, for the tokenizers
  // that look them up with id(). Throws ArgumentError for an empty one or one with white space.
  static Vocabulary from_tokens(const std::vector<std::string>& tokens);
  // {"kind": "word", "data": [words in id order, the special ones first]}; throws ArgumentError naming what
  // is wrong. A tokenizer gives its own `kinds`; their entries are tokens as from_tokens() takes them.
  static Vocabulary from_json(const nlohmann::json& json, const std::vector<std::string>& kinds = {"word"});
  nlohmann::json to_json() const override;

  int64_t size() const override { return static_cast<int64_t>(words_.size()); }
  // kUnknown where the word is not known.
  int64_t id(const std::string& word) const;
  // Throws ArgumentError outside 0 .. size() - 1.
  const std::string& word(int64_t id) const;
  SpecialTokens specials() const override { return {kPad, kStart, kEnd, kUnknown}; }
  // From left to right, the longest entry that fits.
  std::vector<int64_t> encode(const std::string& caption) const override;
  // Joined by spaces.
  std::string decode(const std::vector<int64_t>& ids) const override;
  // Every sequence of entries that has these words in a row and no entry without one of them: "panda" is in
  // "red panda", too. encode()'s where there is none.
  std::vector<std::vector<int64_t>> phrases(const std::string& text) const override;
  // Each entry is a word, phrases too.
  std::vector<TokenSpan> words(const std::vector<int64_t>& ids) const override;

 private:
  // The entries of `words`, "" for a word that is in none.
  std::vector<std::string> entries(const std::vector<std::string>& words) const;
  void add(const std::string& entry);
  // Adds to `ways` those that begin with `said` and go on with words[at ..].
  void add_ways(const std::vector<std::string>& words, size_t at, const std::vector<int64_t>& said,
                std::vector<std::vector<int64_t>>& ways) const;

  std::vector<std::string> words_;
  std::unordered_map<std::string, int64_t> ids_;
  size_t longest_ = 1;  // words in the longest entry
};

}  // namespace gaze::models
