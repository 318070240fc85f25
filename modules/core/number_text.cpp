#include "modules/core/number_text.h"

#include <fmt/format.h>

namespace gaze {

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  const size_t sign = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > sign + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  if (bytes < 1000 * 1000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace gaze
