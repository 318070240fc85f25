#include "modules/attention/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

SpecOptions& SpecOptions::integer(const char* name, int64_t& value, const char* text) {
  const auto read = [&value](const std::string& text) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  };
  options_.push_back({name, text, "an integer", [&value] { return std::to_string(value); }, read});
  return *this;
}

SpecOptions& SpecOptions::boolean(const char* name, bool& value, const char* text) {
  return choice(
      name, [&value] { return value ? 0 : 1; }, [&value](size_t index) { value = index == 0; },
      {"true", "false"}, text);
}

SpecOptions& SpecOptions::word(const char* name, std::string& value, const char* text) {
  const auto read = [&value](const std::string& text) {
    value = text;
    return true;
  };
  options_.push_back({name, text, "a word", [&value] { return value; }, read});
  return *this;
}

SpecOptions& SpecOptions::choice(const char* name, std::function<size_t()> get,
                                 std::function<void(size_t)> set, std::vector<std::string> names,
                                 const char* text) {
  const auto read = [names, set](const std::string& text) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) return false;
    set(static_cast<size_t>(found - names.begin()));
    return true;
  };
  const auto write = [names, get] { return names[get()]; };
  options_.push_back({name, text, fmt::format("{}", fmt::join(names, " or ")), write, read});
  return *this;
}

SpecOptions& SpecOptions::init(Init& value) {
  return choice("init", value, {"paper", "identity"},
                "how it starts: as its paper has it, or leaving the network's output as it is");
}

SpecOptions& SpecOptions::always() {
  options_.back().always = true;
  return *this;
}

void SpecOptions::read(const BlockSpec& spec) const {
  for (const auto& [name, value] : spec.options) {
    const auto has_name = [&name = name](const Option& option) { return option.name == name; };
    const auto option = std::find_if(options_.begin(), options_.end(), has_name);
    if (option == options_.end()) {
      std::vector<std::string> known;
      for (const Option& one : options_) known.push_back(one.name);
      fail_unknown(block_, "option", name, known);
    }
    if (!option->read(value)) {
      check_that(false, block_, fmt::format("{}={}", name, option->expected),
                 fmt::format("{}={}", name, value));
    }
  }
}

std::string SpecOptions::write(const SpecOptions& usual) const {
  std::vector<std::string> parts;
  for (size_t i = 0; i < options_.size(); ++i) {
    const std::string value = options_[i].write();
    if (options_[i].always || value != usual.options_[i].write())
      parts.push_back(options_[i].name + "=" + value);
  }
  return parts.empty() ? block_ : fmt::format("{}({})", block_, fmt::join(parts, ", "));
}

std::string SpecOptions::values() const {
  std::vector<std::string> parts;
  for (const Option& option : options_) parts.push_back(option.name + "=" + option.write());
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<OptionDescription> SpecOptions::describe() const {
  std::vector<OptionDescription> described;
  for (const Option& option : options_) described.push_back({option.name, option.write(), option.text});
  return described;
}

}  // namespace gaze
