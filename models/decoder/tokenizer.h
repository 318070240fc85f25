// Captions <-> ids: what every kind of tokenizer does. Includes no torch.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gaze::models {

// The ids that are no text.
struct SpecialTokens {
  int64_t pad = 0, start = 1, end = 2, unknown = 3;

  bool has(int64_t id) const { return id == pad || id == start || id == end || id == unknown; }
};

// A word of a caption, and the tokens first .. last-1 of it that make the word.
struct TokenSpan {
  std::string text;
  size_t first = 0, last = 0;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int64_t size() const = 0;  // ids are 0 .. size() - 1
  virtual SpecialTokens specials() const = 0;
  // Without start and end. What is not known becomes `unknown`.
  virtual std::vector<int64_t> encode(const std::string& text) const = 0;
  // The text of a caption, special tokens dropped. Throws ArgumentError for an id outside 0 .. size() - 1.
  virtual std::string decode(const std::vector<int64_t>& ids) const = 0;
  // The words of a caption in order; special tokens belong to none. Throws as decode() does.
  virtual std::vector<TokenSpan> words(const std::vector<int64_t>& ids) const = 0;
  // The ways in which a caption can hold these words in its middle or at its start, for banning and forcing
  // them.
  virtual std::vector<std::vector<int64_t>> phrases(const std::string& text) const { return {encode(text)}; }
  // {"kind", "data", ...}: what tokenizer_from_json() reads.
  virtual nlohmann::json to_json() const = 0;
};

// The tokenizer of a model file. Throws ArgumentError naming what is wrong, or the kinds there are.
std::shared_ptr<const Tokenizer> tokenizer_from_json(const nlohmann::json& json);

}  // namespace gaze::models
