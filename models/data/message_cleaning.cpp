#include "models/data/message_cleaning.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

constexpr int64_t kLongestEnglish = 120, kLongestChinese = 60;  // characters
constexpr int64_t kMostWords = 3;                               // for a Chinese character

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

int64_t count_chinese(std::string_view text) {
  const std::vector<std::string_view> all = characters(text);
  return std::count_if(all.begin(), all.end(),
                       [](std::string_view character) { return is_ideograph(code_point(character)); });
}

// A pattern that a sentence does not have.
bool is_template(std::string_view text) {
  if (text.find_first_of("%{}[]<>@\\|=\n\t\r") != std::string_view::npos) return true;
  if (text.find("://") != std::string_view::npos) return true;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '~' && is_letter(text[i + 1])) return true;
    if (text[i] == ';' && text[i + 1] != ' ') return true;
    if (text[i] == '&' && text.find(';', i) != std::string_view::npos) return true;
  }
  return !text.empty() && text.back() == ';';
}

// "Save _As" -> "Save As", "保存(_S)" -> "保存"; nothing where an underscore is left: it is part of a name.
std::optional<std::string> without_accelerator(std::string text) {
  for (const char mark : {'_', '&'}) {
    const size_t at = text.find(mark);
    if (at == std::string::npos || at + 1 == text.size() || !is_letter_or_digit(text[at + 1])) continue;
    const bool bracketed = at > 0 && text[at - 1] == '(' && at + 2 < text.size() && text[at + 2] == ')';
    text.erase(bracketed ? at - 1 : at, bracketed ? 4 : 1);
  }
  if (text.find('_') != std::string::npos) return std::nullopt;
  return text;
}

// Letters and digits of full width are U+FF10..19, U+FF21..3A, U+FF41..5A: ASCII and 0xFEE0.
std::string half_width(char32_t c) {
  const bool wide =
      (c >= 0xFF10 && c <= 0xFF19) || (c >= 0xFF21 && c <= 0xFF3A) || (c >= 0xFF41 && c <= 0xFF5A);
  return utf8_text(wide ? c - 0xFEE0 : c);
}

// Runs of white space become one space, none at the ends and between two Chinese characters.
std::string tidy(std::string_view text) {
  std::string result;
  bool gap = false, after_chinese = false;
  for (const std::string_view character : characters(text)) {
    const char32_t c = code_point(character);
    if (is_white_space(c)) {
      gap = !result.empty();
      continue;
    }
    if (gap && !(after_chinese && is_ideograph(c))) result += ' ';
    result += half_width(c);
    gap = false;
    after_chinese = is_ideograph(c);
  }
  return result;
}

}  // namespace

std::optional<TextPair> clean_message(const std::string& english, const std::string& chinese) {
  if (is_template(english) || is_template(chinese)) return std::nullopt;
  const std::optional<std::string> source = without_accelerator(english);
  const std::optional<std::string> target = without_accelerator(chinese);
  if (!source || !target) return std::nullopt;
  TextPair pair{tidy(*source), tidy(*target), {}};
  const int64_t translated = count_chinese(pair.target);
  const int64_t words = std::count(pair.source.begin(), pair.source.end(), ' ') + 1;
  const bool plain = std::any_of(pair.source.begin(), pair.source.end(), is_letter) &&
                     count_chinese(pair.source) == 0 && translated > 0 && words <= kMostWords * translated &&
                     character_count(pair.source) <= kLongestEnglish &&
                     character_count(pair.target) <= kLongestChinese;
  return plain ? std::optional<TextPair>(std::move(pair)) : std::nullopt;
}

}  // namespace gaze::models
