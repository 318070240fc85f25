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

#include "models/backbone/name_alternatives.h"
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

// What stands between [ and ]; within a number, behind one of its digits, a range is one of digits.
Element bracket_element(std::string inside, bool within_number, const PatternError& error) {
  static const std::regex range("(-?[0-9]+)-(-?[0-9]+)|(-[0-9]+)");
  if (std::smatch match; !within_number && std::regex_match(inside, match, range)) {
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
      elements.push_back(
          bracket_element(text.substr(i + 1, close - i - 1), i > 0 && is_digit(text[i - 1]), error));
      i = close;
    } else if (c == '-' && i + 1 < text.size() && is_digit(text[i + 1])) {
      size_t end = i + 1;
      while (end < text.size() && is_digit(text[end])) ++end;
      elements.push_back(bracket_element(text.substr(i, end - i), false, error));
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
  const PatternError error(list.op, pattern);
  const std::vector<std::string> alternatives = expand_alternatives(pattern, error);
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
