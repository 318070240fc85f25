#include "models/backbone/name_alternatives.h"

#include <fmt/format.h>

#include "modules/core/error.h"

namespace gaze::models {
namespace {

// Splits at commas outside of braces and brackets.
std::vector<std::string> split(const std::string& text, const PatternError& error) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool bracket = false;
  for (const char c : text) {
    if (bracket) {
      bracket = c != ']';
    } else if (c == '[') {
      bracket = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth < 0) {
      error.fail("} without {");
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  if (bracket) error.fail("[ without ]");
  if (depth > 0) error.fail("{ without }");
  return parts;
}

std::string trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// "a.{b,c{d,e}}" -> a.b, a.cd, a.ce
void expand(const std::string& text, const PatternError& error, std::vector<std::string>& out) {
  constexpr size_t kMost = 1000;
  size_t open = 0;
  for (bool bracket = false; open < text.size(); ++open) {
    if (text[open] == '[') bracket = true;
    if (text[open] == ']') bracket = false;
    if (text[open] == '{' && !bracket) break;
  }
  if (open >= text.size()) {
    if (text.empty()) error.fail("an empty alternative");
    if (out.size() >= kMost) error.fail("more than a thousand alternatives");
    out.push_back(text);
    return;
  }
  int depth = 0;
  bool bracket = false;
  size_t close = open;
  for (; close < text.size(); ++close) {
    const char c = text[close];
    if (c == '[') bracket = true;
    if (c == ']') bracket = false;
    if (bracket) continue;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) break;
  }
  const std::string before = text.substr(0, open), behind = text.substr(close + 1);
  for (const std::string& choice : split(text.substr(open + 1, close - open - 1), error))
    expand(before + trim(choice) + behind, error, out);
}

}  // namespace

void PatternError::fail(const std::string& problem) const {
  throw ArgumentError(fmt::format("[{}] expected a pattern such as \"layer[34].*.attn\"; got \"{}\": {}", op_,
                                  pattern_, problem));
}

std::vector<std::string> expand_alternatives(const std::string& pattern, const PatternError& error) {
  std::vector<std::string> alternatives;
  for (const std::string& part : split(pattern, error)) expand(trim(part), error, alternatives);
  return alternatives;
}

}  // namespace gaze::models
