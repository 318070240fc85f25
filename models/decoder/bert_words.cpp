#include "models/decoder/bert_words.h"

#include <string_view>

#include "models/decoder/unicode_text.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool within(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

// "\t\n\r ", and what is left of Unicode's white space once controls are gone.
bool is_space(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || c == ' ' || (c >= 0x80 && is_separator(c));
}

bool is_dropped(char32_t c) {
  return c == 0 || c == kReplacement || (c < 0x80 ? c < 0x20 || c == 0x7F : is_control_or_format(c));
}

bool is_chinese(char32_t c) {
  return within(c, 0x4E00, 0x9FFF) || within(c, 0x3400, 0x4DBF) || within(c, 0x20000, 0x2A6DF) ||
         within(c, 0x2A700, 0x2B73F) || within(c, 0x2B740, 0x2B81F) || within(c, 0x2B820, 0x2CEAF) ||
         within(c, 0xF900, 0xFAFF) || within(c, 0x2F800, 0x2FA1F);
}

bool is_mark(char32_t c) {
  return within(c, 33, 47) || within(c, 58, 64) || within(c, 91, 96) || within(c, 123, 126) ||
         (c >= 0x80 && is_punctuation(c));
}

// Texts between white space, Chinese characters apart.
std::vector<std::string> clean_texts(const std::string& text) {
  std::vector<std::string> texts;
  bool goes_on = false;
  for (const std::string_view character : characters(text)) {
    const char32_t c = code_point(character);
    if (is_space(c)) {
      goes_on = false;
    } else if (!is_dropped(c)) {
      const bool alone = is_chinese(c);
      if (!goes_on || alone) texts.emplace_back();
      texts.back() += character;
      goes_on = !alone;
    }
  }
  return texts;
}

std::string lower_case_without_accents(std::string text) {
  if (is_ascii(text)) {
    for (char& c : text) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
  }
  std::string result;
  const std::string decomposed = lower_and_decompose(text);
  for (const std::string_view character : characters(decomposed)) {
    if (!is_nonspacing_mark(code_point(character))) result += character;
  }
  return result;
}

}  // namespace

std::vector<std::string> bert_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::string& piece : clean_texts(text)) {
    const std::string lower = lower_case_without_accents(std::move(piece));
    bool goes_on = false;
    for (const std::string_view character : characters(lower)) {
      const bool alone = is_mark(code_point(character));
      if (!goes_on || alone) words.emplace_back();
      words.back() += character;
      goes_on = !alone;
    }
  }
  return words;
}

}  // namespace gaze::models
