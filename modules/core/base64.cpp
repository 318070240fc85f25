#include "modules/core/base64.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gaze {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

uint32_t byte_at(std::string_view bytes, size_t at) {
  return at < bytes.size() ? static_cast<uint8_t>(bytes[at]) : 0U;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const uint32_t group = byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2);
    const size_t digits = std::min<size_t>(bytes.size() - at, 3) + 1;
    for (size_t i = 0; i < 4; ++i) text += i < digits ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t bits = 0;
  for (size_t at = 0; at < text.size() - padding; ++at) {
    const size_t digit = kDigits.find(text[at]);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (at % 4 != 0) bytes += static_cast<char>(bits >> (6 - 2 * (at % 4)) & 0xFF);
  }
  const uint32_t left_over = padding == 2 ? 0xF : padding == 1 ? 0x3 : 0;
  if ((bits & left_over) != 0) return std::nullopt;
  return bytes;
}

}  // namespace gaze
