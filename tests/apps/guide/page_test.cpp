// The page of the guide shows its programs as they are.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> program_names() {
  std::istringstream names(GUIDE_PROGRAMS);
  return {std::istream_iterator<std::string>(names), {}};
}

// The part of the page from the program's heading to the next; empty where it has none.
std::string section_of(const std::string& name) {
  const std::string page = "\n" + test::guide_text("README.md");
  const size_t link = page.find(": [" + name + ".cpp](" + name + ".cpp)\n");
  const size_t start = link == std::string::npos ? link : page.rfind("\n## ", link);
  return start == std::string::npos ? "" : page.substr(start, page.find("\n## ", link) - start);
}

// What stands between ``` of a kind.
std::vector<std::string> fences(const std::string& section, const std::string& kind) {
  std::vector<std::string> texts;
  const std::string start = "```" + kind + "\n";
  for (size_t at = section.find(start); at != std::string::npos; at = section.find(start, at)) {
    at += start.size();
    texts.push_back(section.substr(at, section.find("```", at) - at));
  }
  return texts;
}

class GuidePage : public ::testing::TestWithParam<std::string> {};

// Code is in the program, line by line; a "text" is printed. What differs between machines is "text example".
TEST_P(GuidePage, shows_the_program_as_it_is) {
  const std::string name = GetParam(), program = test::guide_text(name + ".cpp"), section = section_of(name);
  ASSERT_NE(section, "") << "README.md has no section of " << name;
  EXPECT_FALSE(fences(section, "cpp").empty());
  for (const std::string& shown : fences(section, "cpp")) EXPECT_THAT(program, HasSubstr(shown));
  const std::vector<std::string> texts = fences(section, "text");
  EXPECT_FALSE(texts.empty() && fences(section, "text example").empty());
  if (texts.empty()) return;
  const std::string printed = "\n" + test::printed_by(name);
  for (const std::string& text : texts) EXPECT_THAT(printed, HasSubstr("\n" + text));
}

TEST_P(GuidePage, lists_the_program_which_is_short) {
  const std::string name = GetParam(), program = test::guide_text(name + ".cpp");
  EXPECT_THAT(test::guide_text("README.md"), HasSubstr("\n| [" + name + "](" + name + ".cpp) | "));
  EXPECT_LT(std::count(program.begin(), program.end(), '\n'), 60);
}

INSTANTIATE_TEST_SUITE_P(Programs, GuidePage, ::testing::ValuesIn(program_names()),
                         [](const auto& program) { return program.param; });

}  // namespace
}  // namespace gaze
