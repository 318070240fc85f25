#include "models/decoder/text_tokenizer.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "modules/core/check.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

using Kind = TextTokenizer::Kind;

constexpr const char* kSpace = "▁";  // U+2581, as SentencePiece has it
constexpr const char *kCharacter = "character", *kWordPunctuation = "word_punctuation";  // kinds in JSON

// ASCII signs, and the blocks of Latin-1 signs, general and CJK punctuation, symbols, and full-width signs.
bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return !alphanumeric;
  }
  return (c >= 0xA1 && c <= 0xBF) || c == 0xD7 || c == 0xF7 || (c >= 0x2010 && c <= 0x2BFF) ||
         (c >= 0x3001 && c <= 0x303F && !is_ideograph(c)) || (c >= 0xFF01 && c <= 0xFF0F) ||
         (c >= 0xFF1A && c <= 0xFF20) || (c >= 0xFF3B && c <= 0xFF40) || (c >= 0xFF5B && c <= 0xFF65);
}

bool is_in_word(char32_t c) {
  return !is_white_space(c) && !is_punctuation(c) && !is_ideograph(c);
}

bool is_apostrophe(char32_t c) {
  return c == '\'' || c == 0x2019;
}

std::string lower_case(std::string_view character) {
  std::string text(character);
  if (text.size() == 1 && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

std::vector<TextToken> character_tokens(const std::vector<std::string_view>& all) {
  std::vector<TextToken> tokens;
  for (const std::string_view character : all) {
    const auto at = static_cast<int64_t>(tokens.size());
    tokens.push_back({is_white_space(code_point(character)) ? kSpace : std::string(character), at, at + 1});
  }
  return tokens;
}

std::vector<TextToken> word_tokens(const std::vector<std::string_view>& all) {
  std::vector<TextToken> tokens;
  bool in_word = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const char32_t c = code_point(all[i]);
    const auto at = static_cast<int64_t>(i);
    const bool joins =
        in_word && is_apostrophe(c) && i + 1 < all.size() && is_in_word(code_point(all[i + 1]));
    const bool goes_on = is_in_word(c) || joins;
    if (goes_on && in_word) {
      tokens.back().text += joins ? "'" : lower_case(all[i]);
      tokens.back().end = at + 1;
    } else if (!is_white_space(c)) {
      tokens.push_back({is_apostrophe(c) ? "'" : lower_case(all[i]), at, at + 1});
    }
    in_word = goes_on;
  }
  return tokens;
}

std::vector<TextToken> split_text(Kind kind, const std::string& text) {
  const std::vector<std::string_view> all = characters(text);
  return kind == Kind::character ? character_tokens(all) : word_tokens(all);
}

bool is_one_of(const std::string& token, std::initializer_list<const char*> texts) {
  for (const char* text : texts) {
    if (token == text) return true;
  }
  return false;
}

// Whether a space stands between two words.
bool apart(const std::string& before, const std::string& after) {
  if (is_one_of(before, {"(", "[", "{", "“", "‘", "«", "¿", "¡"})) return false;
  if (is_one_of(after, {".", ",", "!", "?", ";", ":", ")", "]", "}", "”", "»", "…", "%"})) return false;
  const char32_t last = code_point(before), first = code_point(after);  // U+FFFD of longer tokens
  const auto chinese = [](char32_t c) { return is_ideograph(c) || (c >= 0x3000 && is_punctuation(c)); };
  return !chinese(last) && !chinese(first);
}

}  // namespace

TextTokenizer TextTokenizer::from_texts(Kind kind, const std::vector<std::string>& texts, int64_t min_count) {
  check_that(min_count >= 1, "text_tokenizer", "min_count of 1 or more",
             fmt::format("min_count {}", min_count));
  std::map<std::string, int64_t> counts;
  for (const std::string& text : texts) {
    for (const TextToken& token : split_text(kind, text)) ++counts[token.text];
  }
  std::vector<std::string> kept;
  for (const auto& [token, count] : counts) {
    if (count >= min_count) kept.push_back(token);
  }
  return {kind, Vocabulary::from_tokens(kept)};
}

TextTokenizer TextTokenizer::from_json(const nlohmann::json& json) {
  Vocabulary vocabulary = Vocabulary::from_json(json, {kCharacter, kWordPunctuation});
  return {json["kind"] == kCharacter ? Kind::character : Kind::word_punctuation, std::move(vocabulary)};
}

nlohmann::json TextTokenizer::to_json() const {
  nlohmann::json json = vocabulary_.to_json();
  json["kind"] = kind_ == Kind::character ? kCharacter : kWordPunctuation;
  return json;
}

std::vector<TextToken> TextTokenizer::tokens(const std::string& text) const {
  return split_text(kind_, text);
}

std::vector<int64_t> TextTokenizer::encode(const std::string& text) const {
  std::vector<int64_t> ids;
  for (const TextToken& token : tokens(text)) ids.push_back(vocabulary_.id(token.text));
  return ids;
}

std::string TextTokenizer::decode(const std::vector<int64_t>& ids) const {
  std::string text, before;
  for (const int64_t id : ids) {
    const std::string& token = vocabulary_.word(id);
    if (id < Vocabulary::kSpecials) continue;
    if (kind_ == Kind::character) {
      text += token == kSpace ? " " : token;
      continue;
    }
    if (!before.empty() && apart(before, token)) text += ' ';
    text += token;
    before = token;
  }
  return text;
}

}  // namespace gaze::models
