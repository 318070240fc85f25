// BERT's uncased WordPiece. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/decoder/tokenizer.h"

namespace gaze::models {

// Devlin et al. 2018. The ids are those of google-research/bert's tokenization.py with do_lower_case=True:
// each of bert_words() is cut from its start into the longest pieces that are tokens, those after the first
// one written "##piece"; a word that has no such pieces, or more than 100 characters, is [UNK]. No text is a
// special token: "[SEP]" is three words.
class WordPiece : public Tokenizer {
 public:
  static constexpr int64_t kLongestWord = 100;  // characters

  // Tokens in the order of their ids. They are distinct, not empty, UTF-8 without upper-case ASCII letters,
  // and have [PAD], [UNK], [CLS] and [SEP] anywhere among them; what is in brackets may be upper-case. Throws
  // ArgumentError.
  explicit WordPiece(std::vector<std::string> tokens);
  // A vocab.txt: a token a line. Throws FileError: not to be read, empty, and what the constructor finds.
  static WordPiece from_file(const std::filesystem::path& path);
  // {"kind": "wordpiece", "data": [tokens in id order]}; throws ArgumentError naming what is wrong.
  static WordPiece from_json(const nlohmann::json& json);
  nlohmann::json to_json() const override;

  WordPiece(WordPiece&&) = default;  // the maps' keys are views of the tokens
  WordPiece& operator=(WordPiece&&) = default;

  int64_t size() const override { return static_cast<int64_t>(tokens_.size()); }
  // [PAD], [CLS], [SEP], [UNK].
  SpecialTokens specials() const override { return specials_; }
  std::vector<int64_t> encode(const std::string& text) const override;
  // Tokens joined by spaces, "##" pieces to what is before them; then, as Hugging Face's
  // clean_up_tokenization(), without the space before . ? ! , n't 'm 's 've 're and without those around '.
  // [MASK] is dropped too.
  std::string decode(const std::vector<int64_t>& ids) const override;
  // A token with the "##" pieces that follow it is a word.
  std::vector<TokenSpan> words(const std::vector<int64_t>& ids) const override;

 private:
  const std::string& token(int64_t id) const;
  bool is_dropped(int64_t id) const { return specials_.has(id) || id == mask_; }
  void append_pieces(const std::string& word, std::vector<int64_t>& ids) const;

  std::vector<std::string> tokens_;
  std::unordered_map<std::string_view, int64_t> starts_, continuations_;  // these without their "##"
  size_t longest_ = 0;                                                    // bytes of the longest key
  SpecialTokens specials_;
  int64_t mask_ = -1;  // [MASK], where there is one
};

}  // namespace gaze::models
