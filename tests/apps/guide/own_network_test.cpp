// A person's own network gets slots: the program of the guide, and the page that shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/run_program.h"

namespace gaze {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(GAZE_SOURCE_DIR "/apps/guide/") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OwnNetwork, keeps_its_output_and_learns_on) {
  const test::ProgramResult result = test::run_program({GUIDE_OWN_NETWORK});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("attn.0  se(reduction=4, init=identity)"));
  EXPECT_THAT(result.out, HasSubstr("attn.1  cbam(reduction=16, kernel=3, init=identity)"));
  EXPECT_THAT(result.out, HasSubstr("\noutput as before: yes\nloss "));
  std::istringstream lines(result.out.substr(result.out.find("loss ")));
  std::vector<double> losses;
  for (std::string word; lines >> word;) {
    if (word != "loss") losses.push_back(std::stod(word));
  }
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_LT(losses[2], losses[0]);
}

// What the page shows is in the program, and what it says is printed.
TEST(OwnNetwork, page_shows_the_program_as_it_is) {
  const std::string page = text_of("README.md"), program = text_of("own_network.cpp");
  const auto fences = [&](const std::string& kind) {
    std::vector<std::string> texts;
    const std::string start = "```" + kind + "\n";
    for (size_t at = page.find(start); at != std::string::npos; at = page.find(start, at)) {
      at += start.size();
      texts.push_back(page.substr(at, page.find("```", at) - at));
    }
    return texts;
  };
  EXPECT_EQ(fences("cpp").size(), 3U);
  for (const std::string& shown : fences("cpp")) EXPECT_THAT(program, HasSubstr(shown));
  ASSERT_EQ(fences("text").size(), 1U);
  EXPECT_THAT(test::run_program({GUIDE_OWN_NETWORK}).out, ::testing::StartsWith(fences("text")[0]));
}

}  // namespace
}  // namespace gaze
