// Texts in, texts out: a translator with its tokenizers.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/checkpoint/model_file.h"
#include "models/decoder/text_tokenizer.h"
#include "models/sequence/translator.h"

namespace gaze::models {

struct TranslatedToken {
  std::string text;
  double log_probability = 0;
  torch::Tensor weights;  // [S] float32, over the source's tokens, sums to 1; undefined without attention
};

struct Translation {
  std::string text;
  double log_probability = 0;  // includes the end token
  double score = 0;            // what the search ranked by
  bool finished = false;
  std::vector<TextToken> source;
  std::vector<TranslatedToken> tokens;  // without the end token
};

// {"source", "target", "log_probability", "score", "finished", "source_tokens": [text], "tokens": [{"text",
// "log_probability", "weights": [S]}]}; "weights" is absent without attention.
nlohmann::json to_json(const std::string& source, const Translation& translation);

// One padded batch of token ids, [B, S] int64.
torch::Tensor padded(const std::vector<std::vector<int64_t>>& ids);

class TextTranslator {
 public:
  // Throws ArgumentError where a vocabulary's size is not the translator's.
  TextTranslator(TextTokenizer source, TextTokenizer target, Translator translator);
  // Of a model file of the task "translate". Throws ArgumentError that says what differs.
  explicit TextTranslator(const ModelFile& model);
  // Throws FileError that names the file.
  static TextTranslator load(const std::filesystem::path& path);

  ModelFile to_model_file(const nlohmann::json& provenance) const;

  // The best translation of each text, all in one batch. A text without a token has an empty translation.
  std::vector<Translation> translate(const std::vector<std::string>& texts, const SearchOptions& options);

  const TextTokenizer& source() const { return source_; }
  const TextTokenizer& target() const { return target_; }
  Translator& translator() { return translator_; }

 private:
  TextTokenizer source_, target_;
  Translator translator_;
};

}  // namespace gaze::models
