// SentencePiece, by its own library. Includes no torch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/decoder/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace gaze::models {

// Kudo and Richardson 2018; unigram or BPE, whatever the model is. A model may lack special pieces: without a
// start one it is the padding, as T5 has it, else the end; without a padding it is the end.
class SentencePiece : public Tokenizer {
 public:
  // The bytes of a .model file. Throws ArgumentError: not one, or without an end-of-sentence piece.
  explicit SentencePiece(std::string model);
  ~SentencePiece() override;
  SentencePiece(SentencePiece&&) noexcept;
  SentencePiece& operator=(SentencePiece&&) noexcept;

  // A .model file. Throws FileError: not to be read, empty, and what the constructor finds.
  static SentencePiece from_file(const std::filesystem::path& path);
  // {"kind": "sentencepiece", "data": the model's bytes in base64}; throws ArgumentError naming what is
  // wrong.
  static SentencePiece from_json(const nlohmann::json& json);
  nlohmann::json to_json() const override;

  int64_t size() const override;
  SpecialTokens specials() const override { return specials_; }
  std::vector<int64_t> encode(const std::string& text) const override;
  std::string decode(const std::vector<int64_t>& ids) const override;
  // A piece that starts with U+2581 "▁" starts a word. Control pieces belong to none.
  std::vector<TokenSpan> words(const std::vector<int64_t>& ids) const override;
  // Two where the model tells a word at the start of a text from one after a space.
  std::vector<std::vector<int64_t>> phrases(const std::string& text) const override;

 private:
  bool is_text(int64_t id) const;
  std::string text_of(const std::vector<int>& ids) const;

  std::string model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  SpecialTokens specials_;
};

}  // namespace gaze::models
