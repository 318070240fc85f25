#include "models/decoder/unicode_text.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "modules/core/check.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

constexpr uint8_t kUnicodeMajor = 14;  // and minor 0

bool is_assigned(char32_t c) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] < kUnicodeMajor || (age[0] == kUnicodeMajor && age[1] == 0);
}

// Whether the general category of `c` is in `mask`, bits as U_GC_L_MASK has them.
bool is_in(char32_t c, uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0 && is_assigned(c);
}

std::string lower_and_decompose_assigned(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(status);
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  const icu::UnicodeString lower = icu::UnicodeString::fromUTF8(piece).toLower(icu::Locale::getRoot());
  std::string result;
  if (U_SUCCESS(status)) nfd->normalize(lower, status).toUTF8String(result);
  check_that(U_SUCCESS(status), "unicode", "ICU's data of NFD", u_errorName(status));
  return result;
}

}  // namespace

bool is_letter(char32_t c) {
  return is_in(c, U_GC_L_MASK);
}

bool is_number(char32_t c) {
  return is_in(c, U_GC_N_MASK);
}

bool is_punctuation(char32_t c) {
  return is_in(c, U_GC_P_MASK);
}

bool is_separator(char32_t c) {
  return is_in(c, U_GC_Z_MASK);
}

bool is_nonspacing_mark(char32_t c) {
  return is_in(c, U_GC_MN_MASK);
}

bool is_control_or_format(char32_t c) {
  return is_in(c, U_GC_CC_MASK | U_GC_CF_MASK);
}

std::string lower_and_decompose(std::string_view text) {
  // An unassigned character has no case, and marks do not change places across it.
  std::string result;
  size_t begin = 0, at = 0;
  for (const std::string_view character : characters(text)) {
    if (!is_assigned(code_point(character))) {
      result += lower_and_decompose_assigned(text.substr(begin, at - begin));
      result += character;
      begin = at + character.size();
    }
    at += character.size();
  }
  return result + lower_and_decompose_assigned(text.substr(begin));
}

std::string with_replacements(std::string_view bytes) {
  std::string result;
  icu::UnicodeString::fromUTF8({bytes.data(), static_cast<int32_t>(bytes.size())}).toUTF8String(result);
  return result;
}

}  // namespace gaze::models
