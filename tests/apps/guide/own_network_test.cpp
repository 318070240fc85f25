// A person's own network gets slots: the program of the guide.
#include <gmock/gmock.h>

#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

using ::testing::HasSubstr;

TEST(OwnNetwork, keeps_its_output_and_learns_on) {
  const std::string out = test::printed_by("own_network");
  EXPECT_THAT(out, HasSubstr("attn.0  se(reduction=4, init=identity)"));
  EXPECT_THAT(out, HasSubstr("attn.1  cbam(reduction=16, kernel=3, init=identity)"));
  EXPECT_THAT(out, HasSubstr("\noutput as before: yes\nloss "));
  std::istringstream lines(out.substr(out.find("loss ")));
  std::vector<double> losses;
  for (std::string word; lines >> word;) {
    if (word != "loss") losses.push_back(std::stod(word));
  }
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_LT(losses[2], losses[0]);
}

}  // namespace
}  // namespace gaze
