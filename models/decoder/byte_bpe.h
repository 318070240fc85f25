// GPT-2's byte-level byte-pair encoding. Includes no torch.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/decoder/tokenizer.h"

namespace gaze::models {

// Radford et al. 2019; Sennrich et al. 2016. The ids are those of GPT-2's encoder.py: each of gpt2_words() is
// a list of bytes, of which neighbours are merged, always those whose pair comes first in `merges`. Written
// out here, since neither Debian nor PyPI has a library of it for C++ (Hugging Face's `tokenizers` and
// `tiktoken` are Rust for Python).
//
// Tokens and merges are written as in vocab.json and merges.txt: a byte that is no printable character of
// Latin-1 is one of U+0100..U+0143, so that a space is "Ġ". No text is a special token.
class ByteBpe : public Tokenizer {
 public:
  // Tokens in the order of their ids; merges "LEFT RIGHT", first come first. What a merge names and makes is
  // a token. The special tokens are found by their names: end is </s> or <|endoftext|>, start <s>, pad <pad>
  // or <|pad|>, unknown <unk>; where there is none it is <|endoftext|>, else the end. Throws ArgumentError.
  ByteBpe(std::vector<std::string> tokens, const std::vector<std::string>& merges);
  // A vocab.json {token: id} and a merges.txt, a merge a line below "#version". Throws FileError: not to be
  // read, no such JSON, ids that are not 0 .. size - 1, and what the constructor finds.
  static ByteBpe from_files(const std::filesystem::path& vocabulary, const std::filesystem::path& merges);
  // {"kind": "byte_bpe", "data": [tokens in id order], "merges": ["LEFT RIGHT"]}; throws ArgumentError naming
  // what is wrong.
  static ByteBpe from_json(const nlohmann::json& json);
  nlohmann::json to_json() const override;

  int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }
  SpecialTokens specials() const override { return specials_; }
  // A byte that is no token, of a vocabulary without all 256, is `unknown`.
  std::vector<int64_t> encode(const std::string& text) const override;
  // The bytes joined, without white space at their ends; what is not UTF-8 becomes U+FFFD.
  std::string decode(const std::vector<int64_t>& ids) const override;
  // Words are what white space stands between: a token that starts with some starts one, "Ġdog" "." is a
  // word.
  std::vector<TokenSpan> words(const std::vector<int64_t>& ids) const override;
  // The text after a space, and as a caption starts with it.
  std::vector<std::vector<int64_t>> phrases(const std::string& text) const override;

 private:
  struct Merge {
    int64_t rank = 0, token = 0;  // the lower rank first
  };

  const std::string& bytes(int64_t id) const;
  void append_tokens(std::string_view word, std::vector<int64_t>& ids) const;

  std::vector<std::string> tokens_, merges_;
  std::vector<std::string> bytes_;          // of each token
  std::array<int64_t, 256> byte_tokens_{};  // the token of each byte, or `unknown`
  std::unordered_map<uint64_t, Merge> ranks_;
  SpecialTokens specials_;
};

}  // namespace gaze::models
