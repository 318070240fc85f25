// Words <-> ids. Includes no torch.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace gaze::models {

// A word vocabulary. Ids 0..3 are <pad>, <start>, <end>, <unk>; the others are lower-case words in a fixed order.
class Vocabulary {
 public:
  static constexpr int64_t kPad = 0, kStart = 1, kEnd = 2, kUnknown = 3;

  // Every distinct word of `captions` (split on spaces), sorted.
  static Vocabulary from_captions(const std::vector<std::string>& captions);
  // {"kind": "word", "data": [words in id order]}; throws ArgumentError naming what is wrong.
  static Vocabulary from_json(const nlohmann::json& json);
  nlohmann::json to_json() const;

  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  int64_t id(const std::string& word) const;           // kUnknown where it is not known
  const std::string& word(int64_t id) const;           // throws ArgumentError outside 0..size-1
  std::vector<int64_t> encode(const std::string& caption) const;  // without start and end
  std::string decode(const std::vector<int64_t>& ids) const;      // specials dropped, joined by spaces

 private:
  explicit Vocabulary(std::vector<std::string> words);
  std::vector<std::string> words_;
  std::unordered_map<std::string, int64_t> ids_;
};

}  // namespace gaze::models
