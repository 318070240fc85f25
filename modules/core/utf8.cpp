#include "modules/core/utf8.h"

namespace gaze {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kLargest = 0x10FFFF;

uint8_t byte_at(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<uint8_t>(text[at]) : uint8_t{0};
}

bool within(uint8_t byte, uint8_t low, uint8_t high) {
  return byte >= low && byte <= high;
}

bool continues(uint8_t byte) {
  return within(byte, 0x80, 0xBF);
}

// Bytes of the character at `at`, 0 where there is none: a row of table 3-7 each.
size_t length_at(std::string_view text, size_t at) {
  const uint8_t first = byte_at(text, at), second = byte_at(text, at + 1);
  if (first < 0x80) return 1;
  if (within(first, 0xC2, 0xDF)) return continues(second) ? 2 : 0;
  if (within(first, 0xE0, 0xEF)) {
    const uint8_t low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
    return within(second, low, high) && continues(byte_at(text, at + 2)) ? 3 : 0;
  }
  if (within(first, 0xF0, 0xF4)) {
    const uint8_t low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    return within(second, low, high) && continues(byte_at(text, at + 2)) && continues(byte_at(text, at + 3))
               ? 4
               : 0;
  }
  return 0;
}

}  // namespace

size_t valid_utf8_bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = length_at(text, at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size(); at += result.back().size()) {
    const size_t length = length_at(text, at);
    result.push_back(text.substr(at, length == 0 ? 1 : length));
  }
  return result;
}

int64_t character_count(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    const size_t length = length_at(text, at);
    at += length == 0 ? 1 : length;
  }
  return count;
}

char32_t code_point(std::string_view character) {
  if (character.empty() || length_at(character, 0) != character.size()) return kReplacement;
  constexpr uint8_t kLeadBits[] = {0x7F, 0x1F, 0x0F, 0x07};
  char32_t value = byte_at(character, 0) & kLeadBits[character.size() - 1];
  for (size_t i = 1; i < character.size(); ++i) value = value << 6 | (byte_at(character, i) & 0x3F);
  return value;
}

std::string utf8_text(char32_t code_point) {
  if (code_point > kLargest || (code_point >= 0xD800 && code_point <= 0xDFFF)) code_point = kReplacement;
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  if (code_point < 0x800) return {static_cast<char>(0xC0 | code_point >> 6), tail(0)};
  if (code_point < 0x10000) return {static_cast<char>(0xE0 | code_point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code_point >> 18), tail(12), tail(6), tail(0)};
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x323AF) ||
         (c >= 0xF900 && c <= 0xFAFF) || c == 0x3007;
}

}  // namespace gaze
