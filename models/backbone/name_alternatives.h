// The alternatives of a pattern of names: "a.{b,c}, d" -> "a.b", "a.c", "d".
#pragma once

#include <string>
#include <vector>

namespace gaze::models {

// What is said of a pattern that is none.
class PatternError {
 public:
  PatternError(const std::string& op, const std::string& pattern) : op_(op), pattern_(pattern) {}

  // Throws ArgumentError.
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  const std::string& op_;
  const std::string& pattern_;
};

// Parts at commas and at braces, which may nest; neither counts within brackets. Fails for unbalanced braces
// and brackets, for an empty alternative and for more than a thousand.
std::vector<std::string> expand_alternatives(const std::string& pattern, const PatternError& error);

}  // namespace gaze::models
