#include "modules/attention/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "modules/core/check.h"

namespace gaze {
namespace {

std::string_view trim(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_word(std::string_view text) {
  const auto letter = [](char c) {
    return std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) ||
           c == '_';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), letter);
}

[[noreturn]] void fail_syntax(std::string_view expected, std::string_view whole) {
  throw ArgumentError(fmt::format("[spec] expected {}, as in \"se+cbam(reduction=16, kernel=7)\"; got \"{}\"",
                                  expected, whole));
}

// Splits at `separator` outside parentheses.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      parts.push_back(trim(text.substr(start, i - start)));
      start = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

BlockSpec parse_one(std::string_view part, std::string_view whole) {
  BlockSpec spec;
  const size_t open = part.find('(');
  spec.name = std::string(trim(part.substr(0, open)));
  if (!is_word(spec.name)) fail_syntax("a module name (lower-case letters, digits, _)", whole);
  if (open == std::string_view::npos) return spec;
  if (part.back() != ')' || part.find(')') != part.size() - 1)
    fail_syntax("one closing parenthesis after the options", whole);
  const std::string_view inside = trim(part.substr(open + 1, part.size() - open - 2));
  if (inside.find('(') != std::string_view::npos) fail_syntax("no parenthesis within the options", whole);
  if (inside.empty()) return spec;
  for (const std::string_view item : split(inside, ',')) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) fail_syntax("options as name=value", whole);
    const std::string option(trim(item.substr(0, equals)));
    const std::string value(trim(item.substr(equals + 1)));
    if (!is_word(option) || value.empty() || value.find('=') != std::string::npos)
      fail_syntax("options as name=value", whole);
    if (!spec.options.emplace(option, value).second)
      fail_syntax(fmt::format("option \"{}\" once", option), whole);
  }
  return spec;
}

}  // namespace

std::vector<BlockSpec> parse_block_specs(std::string_view text) {
  std::vector<BlockSpec> specs;
  const std::string_view whole = trim(text);
  if (whole.empty() || whole == "none") return specs;
  for (const std::string_view part : split(whole, '+')) {
    if (part.empty()) fail_syntax("a module on each side of +", whole);
    specs.push_back(parse_one(part, whole));
    if (specs.back().name == "none") fail_syntax("\"none\" on its own", whole);
  }
  return specs;
}

std::string print_block_spec(const BlockSpec& spec) {
  std::string inside;
  for (const auto& [option, value] : spec.options)
    inside += fmt::format("{}{}={}", inside.empty() ? "" : ", ", option, value);
  return inside.empty() ? spec.name : fmt::format("{}({})", spec.name, inside);
}

const std::string* SpecReader::find(const std::string& option) {
  known_.push_back(option);
  const auto found = spec_.options.find(option);
  return found == spec_.options.end() ? nullptr : &found->second;
}

void SpecReader::fail(const std::string& option, const std::string& expected, const std::string& got) const {
  throw ArgumentError(
      fmt::format("[{}] expected {}={}; got {}={}", spec_.name, option, expected, option, got));
}

int64_t SpecReader::integer(const std::string& option, int64_t fallback) {
  const std::string* const text = find(option);
  if (text == nullptr) return fallback;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) fail(option, "an integer", *text);
  return value;
}

bool SpecReader::boolean(const std::string& option, bool fallback) {
  const std::string* const text = find(option);
  if (text == nullptr) return fallback;
  if (*text != "true" && *text != "false") fail(option, "true or false", *text);
  return *text == "true";
}

Init SpecReader::init(Init fallback) {
  const std::string* const text = find("init");
  if (text == nullptr) return fallback;
  if (*text != "paper" && *text != "identity") fail("init", "paper or identity", *text);
  return *text == "identity" ? Init::identity : Init::paper;
}

void SpecReader::finish() const {
  for (const auto& [option, value] : spec_.options) {
    if (std::find(known_.begin(), known_.end(), option) == known_.end())
      fail_unknown(spec_.name, "option", option, known_);
  }
}

}  // namespace gaze
