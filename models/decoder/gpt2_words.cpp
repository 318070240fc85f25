#include "models/decoder/gpt2_words.h"

#include "models/decoder/unicode_text.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

enum class Kind { letter, number, space, other };

Kind kind_of(std::string_view character) {
  const char32_t c = code_point(character);
  if (c >= 0x1C && c <= 0x1F) return Kind::other;  // white space of Python's, but not of Unicode's
  if (is_white_space(c)) return Kind::space;
  return is_letter(c) ? Kind::letter : is_number(c) ? Kind::number : Kind::other;
}

// Bytes of the contraction that `text` starts with, 0 for none.
size_t contraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.substr(0, ending.size()) == ending) return ending.size();
  }
  return 0;
}

}  // namespace

std::vector<std::string_view> gpt2_words(std::string_view text) {
  const std::vector<std::string_view> all = characters(text);
  std::vector<Kind> kinds;
  kinds.reserve(all.size());
  for (const std::string_view character : all) kinds.push_back(kind_of(character));

  std::vector<std::string_view> words;
  size_t at = 0;  // byte
  for (size_t i = 0; i < all.size();) {
    size_t end = i + contraction(text.substr(at));  // its characters are bytes
    if (end == i) {
      const bool takes_space = all[i] == " " && i + 1 < all.size();
      const Kind kind = kinds[takes_space ? i + 1 : i];
      end = i + (takes_space ? 2 : 1);
      while (end < all.size() && kinds[end] == kind) ++end;
      if (kind == Kind::space && end < all.size() && end > i + 1) --end;
    }
    size_t bytes = 0;
    for (; i < end; ++i) bytes += all[i].size();
    words.push_back(text.substr(at, bytes));
    at += bytes;
  }
  return words;
}

}  // namespace gaze::models
