// UTF-8 text by the character, which is a Unicode code point here. Includes no torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gaze {

// How many bytes of `text` are UTF-8 from its start: text.size() where all are. Overlong forms, surrogates
// and code points above U+10FFFF are not (Unicode 15, table 3-7).
size_t valid_utf8_bytes(std::string_view text);

// The characters in order; the views point into `text`. A byte that is not UTF-8 is a character of its own.
std::vector<std::string_view> characters(std::string_view text);

// characters(text).size(), without the list.
int64_t character_count(std::string_view text);

// The code point of one of characters(); U+FFFD for a byte that is not UTF-8.
char32_t code_point(std::string_view character);

// The character of a code point; U+FFFD for surrogates and above U+10FFFF.
std::string utf8_text(char32_t code_point);

// Unicode's White_Space, and the separators U+001C..U+001F that Python's str.split() splits at too.
bool is_white_space(char32_t code_point);

// A Chinese character: the CJK Unified Ideographs with their extensions A to H, the compatibility ideographs,
// and the zero of Chinese numerals, U+3007.
bool is_ideograph(char32_t code_point);

}  // namespace gaze
