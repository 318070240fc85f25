// The word map of sgrvinod's captioning tutorial: words with ids of its own. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/decoder/tokenizer.h"

namespace gaze::models {

// Lower-case words, an id each; <pad>, <start>, <end> and <unk> are anywhere among them.
class WordMap : public Tokenizer {
 public:
  // Words in the order of their ids. Throws ArgumentError for one twice, an empty one, one with white space,
  // and where one of the four special ones is not there.
  explicit WordMap(std::vector<std::string> words);
  // WORDMAP_*.json: {"a": 1, ..., "<unk>": 9487, "<start>": 9488, "<end>": 9489, "<pad>": 0}, the ids 0 ..
  // V-1 each once. Throws FileError: not to be read, not such an object, and what the constructor finds.
  static WordMap from_file(const std::filesystem::path& path);
  // {"kind": "word_map", "data": [words in id order]}; throws ArgumentError naming what is wrong.
  static WordMap from_json(const nlohmann::json& json);
  nlohmann::json to_json() const override;

  int64_t size() const override { return static_cast<int64_t>(words_.size()); }
  SpecialTokens specials() const override { return specials_; }
  // Words between white space, ASCII letters in lower case.
  std::vector<int64_t> encode(const std::string& text) const override;
  // Joined by spaces.
  std::string decode(const std::vector<int64_t>& ids) const override;
  std::vector<TokenSpan> words(const std::vector<int64_t>& ids) const override;

 private:
  const std::string& word(int64_t id) const;

  std::vector<std::string> words_;
  std::unordered_map<std::string, int64_t> ids_;
  SpecialTokens specials_;
};

}  // namespace gaze::models
