// Programs of the guide: what they print, their source and their section of the page.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/run_program.h"

namespace gaze::test {

// What guide_NAME prints.
inline std::string printed_by(const std::string& name) {
  const ProgramResult result = run_program({GUIDE_PREFIX + name});
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

// A file of apps/guide; empty where there is none.
inline std::string guide_text(const std::string& file_name) {
  std::ifstream file(std::string(GAZE_SOURCE_DIR "/apps/guide/") + file_name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The numbers of the first line that starts with `label` (a word's end; spaces before it do not count), from
// behind it. Other words are left out, "nan" and "inf" are numbers; commas and brackets count as spaces.
inline std::vector<double> numbers_of(const std::string& printed, const std::string& label) {
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    const std::string rest = line.substr(std::min(label.size(), line.size()));
    if (line.rfind(label, 0) != 0 || (!rest.empty() && (std::isalnum(rest[0]) || rest[0] == '.'))) continue;
    std::string spaced = rest;
    std::replace_if(
        spaced.begin(), spaced.end(), [](char c) { return c == ',' || c == '[' || c == ']'; }, ' ');
    std::vector<double> numbers;
    std::istringstream words(spaced);
    for (std::string word; words >> word;) {
      char* end = nullptr;
      const double number = std::strtod(word.c_str(), &end);
      if (*end == '\0') numbers.push_back(number);
    }
    return numbers;
  }
  ADD_FAILURE() << "no line \"" << label << "\" in\n" << printed;
  return {};
}

// Number by number, as many as expected; an expected nan is met by a nan.
inline void expect_numbers(const std::vector<double>& got, const std::vector<double>& expected, double bound,
                           const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << ", number " << i << " is " << got[i];
    } else {
      EXPECT_NEAR(got[i], expected[i], bound) << what << ", number " << i;
    }
  }
}

}  // namespace gaze::test
