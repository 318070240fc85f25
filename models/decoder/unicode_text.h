// What tokenizers ask of Unicode. Includes no torch.
//
// The answers are those of Unicode 14.0 with any later library: a character added since counts as unassigned,
// so that a text has the same ids on every machine. By ICU, since lower case with the final sigma needs the
// properties Cased and Case_Ignorable, which utf8proc does not have; OpenCV brings its library along anyway.
#pragma once

#include <string>
#include <string_view>

namespace gaze::models {

// General categories: L*, N*, P*, Z*, Mn, and Cc or Cf.
bool is_letter(char32_t code_point);
bool is_number(char32_t code_point);
bool is_punctuation(char32_t code_point);
bool is_separator(char32_t code_point);
bool is_nonspacing_mark(char32_t code_point);
bool is_control_or_format(char32_t code_point);

// The text (UTF-8) in lower case, then canonically decomposed (NFD). The lower case is that of Unicode's full
// mapping in no language's own way, as Python's str.lower(): U+0130 becomes "i" and U+0307, and a capital
// sigma that ends a word becomes U+03C2.
std::string lower_and_decompose(std::string_view text);

// The text where its bytes are UTF-8; a sequence that is not, as far as it could be the start of one,
// becomes U+FFFD (Unicode 14, "U+FFFD Substitution of Maximal Subparts"), as Python's errors="replace".
std::string with_replacements(std::string_view bytes);

}  // namespace gaze::models
