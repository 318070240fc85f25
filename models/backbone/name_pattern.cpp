#include "models/backbone/name_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <regex>
#include <set>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

struct Element {
  enum class Kind { any_run, any_one, letter, one_of, none_of, number };
  Kind kind = Kind::letter;
  std::string letters;          // of letter, one_of, none_of
  int64_t first = 0, last = 0;  // of number; below 0 counted from the largest

  bool takes(char c) const {
    switch (kind) {
      case Kind::any_run:
      case Kind::any_one:
        return true;
      case Kind::none_of:
        return letters.find(c) == std::string::npos;
      case Kind::number:
        return false;
      default:
        return letters.find(c) != std::string::npos;
    }
  }
};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A whole number within a name.
struct Number {
  size_t begin = 0, end = 0;
  int64_t value = 0;
};

std::vector<Number> numbers_of(const std::string& name) {
  std::vector<Number> numbers;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end > i) {
      if (const auto value = whole_number(name.substr(i, end - i))) numbers.push_back({i, end, *value});
    }
    i = std::max(end, i + 1);
  }
  return numbers;
}

class PatternError {
 public:
  PatternError(const NameList& list, const std::string& pattern) : list_(list), pattern_(pattern) {}

  [[noreturn]] void fail(const std::string& problem) const {
    throw ArgumentError(fmt::format("[{}] expected a pattern such as \"layer[34].*.attn\"; got \"{}\": {}",
                                    list_.op, pattern_, problem));
  }

 private:
  const NameList& list_;
  const std::string& pattern_;
};

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

Element bracket_element(std::string inside, const PatternError& error) {
  static const std::regex range("(-?[0-9]+)-(-?[0-9]+)|(-[0-9]+)");
  if (std::smatch match; std::regex_match(inside, match, range)) {
    const auto first = whole_number(match[match[3].matched ? 3 : 1].str());
    const auto last = whole_number(match[match[3].matched ? 3 : 2].str());
    if (!first || !last) error.fail("a number too large");
    if ((*first < 0) == (*last < 0) && *first > *last) error.fail("a range that runs backwards");
    return {Element::Kind::number, "", *first, *last};
  }
  Element element{Element::Kind::one_of, "", 0, 0};
  if (!inside.empty() && (inside[0] == '!' || inside[0] == '^')) {
    element.kind = Element::Kind::none_of;
    inside.erase(0, 1);
  }
  if (inside.empty()) error.fail("nothing between [ and ]");
  for (size_t i = 0; i < inside.size(); ++i) {
    if (i + 2 < inside.size() && inside[i + 1] == '-') {
      if (inside[i] > inside[i + 2]) error.fail("a range that runs backwards");
      for (int c = inside[i]; c <= inside[i + 2]; ++c) element.letters += static_cast<char>(c);
      i += 2;
    } else {
      element.letters += inside[i];
    }
  }
  return element;
}

std::vector<Element> parse(const std::string& text, const PatternError& error) {
  std::vector<Element> elements;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '*') {
      elements.push_back({Element::Kind::any_run, "", 0, 0});
    } else if (c == '?') {
      elements.push_back({Element::Kind::any_one, "", 0, 0});
    } else if (c == '[') {
      const size_t close = text.find(']', i);
      elements.push_back(bracket_element(text.substr(i + 1, close - i - 1), error));
      i = close;
    } else if (c == '-' && i + 1 < text.size() && is_digit(text[i + 1])) {
      size_t end = i + 1;
      while (end < text.size() && is_digit(text[end])) ++end;
      elements.push_back(bracket_element(text.substr(i, end - i), error));
      i = end - 1;
    } else {
      elements.push_back({Element::Kind::letter, std::string(1, c), 0, 0});
    }
  }
  return elements;
}

// The largest number that follows each beginning of a name.
using LargestNumbers = std::map<std::string, int64_t>;

LargestNumbers largest_numbers(const std::vector<std::string>& names) {
  LargestNumbers largest;
  for (const std::string& name : names) {
    for (const Number& number : numbers_of(name)) {
      int64_t& value = largest[name.substr(0, number.begin)];
      value = std::max(value, number.value);
    }
  }
  return largest;
}

bool matches(const std::vector<Element>& pattern, const std::string& name, const LargestNumbers& largest) {
  std::vector<bool> reached(name.size() + 1);  // positions of the name that the elements so far can end at
  reached[0] = true;
  const std::vector<Number> numbers = numbers_of(name);
  for (const Element& element : pattern) {
    std::vector<bool> next(reached.size());
    if (element.kind == Element::Kind::number) {
      for (const Number& number : numbers) {
        const int64_t past = largest.at(name.substr(0, number.begin)) + 1;
        const int64_t first = element.first < 0 ? element.first + past : element.first;
        const int64_t last = element.last < 0 ? element.last + past : element.last;
        if (reached[number.begin] && number.value >= first && number.value <= last) next[number.end] = true;
      }
    } else {
      for (size_t j = 0; j <= name.size(); ++j) {
        if (element.kind == Element::Kind::any_run) {
          next[j] = reached[j] || (j > 0 && next[j - 1]);
        } else if (j > 0) {
          next[j] = reached[j - 1] && element.takes(name[j - 1]);
        }
      }
    }
    reached = std::move(next);
  }
  return reached.back();
}

// Insertions, deletions and substitutions that make `name` match; wildcards, and numbers of any value, cost
// nothing.
size_t distance(const std::vector<Element>& pattern, const std::string& name) {
  std::vector<size_t> row(name.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  const std::vector<Number> numbers = numbers_of(name);
  for (const Element& element : pattern) {
    const bool run = element.kind == Element::Kind::any_run;
    std::vector<size_t> next(row.size());
    next[0] = row[0] + (run ? 0 : 1);
    for (size_t j = 1; j <= name.size(); ++j) {
      const size_t substitute = row[j - 1] + (element.takes(name[j - 1]) ? 0 : 1);
      next[j] = std::min({substitute, row[j] + (run ? 0 : 1), next[j - 1] + (run ? 0 : 1)});
      if (element.kind != Element::Kind::number) continue;
      for (const Number& number : numbers) {
        if (number.end == j) next[j] = std::min(next[j], row[number.begin]);
      }
    }
    row = std::move(next);
  }
  return row.back();
}

[[noreturn]] void fail_no_match(const NameList& list, const std::string& alternative,
                                const std::vector<Element>& pattern) {
  std::vector<std::pair<size_t, std::string>> nearest;
  for (const std::string& name : list.names) nearest.emplace_back(distance(pattern, name), name);
  std::stable_sort(nearest.begin(), nearest.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  nearest.resize(std::min<size_t>(nearest.size(), 3));
  std::vector<std::string> shown;
  for (const auto& [cost, name] : nearest) shown.push_back(name);
  throw ArgumentError(fmt::format("[{}] no {} matches \"{}\"; nearest of its {}: {}", list.op, list.what,
                                  alternative, list.names.size(), fmt::join(shown, ", ")));
}

// Whether the last word of `name` has to be spelled out, and `alternative` does not.
bool out_of_reach(const NameList& list, const std::string& name, const std::string& alternative) {
  const std::string word = name.substr(name.rfind('.') + 1);
  if (std::find(list.spelled_out.begin(), list.spelled_out.end(), word) == list.spelled_out.end())
    return false;
  return alternative.size() < word.size() ||
         alternative.compare(alternative.size() - word.size(), word.size(), word) != 0;
}

}  // namespace

std::vector<size_t> match_names(const NameList& list, const std::string& pattern) {
  constexpr size_t kLongest = 1000;
  check_that(pattern.size() <= kLongest, list.op, fmt::format("a pattern of at most {} letters", kLongest),
             fmt::format("{} letters", pattern.size()));
  const PatternError error(list, pattern);
  std::vector<std::string> alternatives;
  for (const std::string& part : split(pattern, error)) expand(trim(part), error, alternatives);
  check_that(!list.names.empty(), list.op, "a " + list.what, "none");
  const LargestNumbers largest = largest_numbers(list.names);
  std::set<size_t> matching;
  for (const std::string& alternative : alternatives) {
    const std::vector<Element> elements = parse(alternative, error);
    bool found = false;
    for (size_t i = 0; i < list.names.size(); ++i) {
      if (out_of_reach(list, list.names[i], alternative) || !matches(elements, list.names[i], largest))
        continue;
      matching.insert(i);
      found = true;
    }
    if (!found) fail_no_match(list, alternative, elements);
  }
  return {matching.begin(), matching.end()};
}

}  // namespace gaze::models
