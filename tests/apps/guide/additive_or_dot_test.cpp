// Memory of both scores, against what their shapes say. Times are printed, not judged.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

TEST(AdditiveOrDot, only_the_additive_score_as_written_keeps_every_number_of_every_pair) {
  const std::string out = test::printed_by("additive_or_dot");
  constexpr double T = 128, D = 64, kMegabyte = 1 << 20, kRounding = 0.006;
  for (const int S : {128, 256, 512, 1024, 2048}) {
    const std::vector<double> row = test::numbers_of(out, std::to_string(S));
    ASSERT_EQ(row.size(), 9U);
    const double pairs = T * S * 4 / kMegabyte,
                 result = pairs + T * D * 4 / kMegabyte;  // result: with weights
    EXPECT_EQ(row[0], T * S * D * 4 / kMegabyte);
    for (const size_t time : {1U, 3U, 5U, 7U}) EXPECT_GT(row[time], 0);
    EXPECT_NEAR(row[2], 2 * pairs + T * D * 4 / kMegabyte, pairs + kRounding) << "dot, as written";
    EXPECT_GE(row[4], result - kRounding) << "attend";
    EXPECT_LE(row[4], 2 * result + 1) << "attend";
    EXPECT_GE(row[6], 2 * row[0]) << "additive, as written: the sums and their tanh";
    EXPECT_LE(row[6], 2 * row[0] + 4 * result) << "additive, as written";
    EXPECT_GE(row[8], result - kRounding) << "additive_attend";
    EXPECT_LE(row[8], result + 4 + kRounding) << "additive_attend: scratch is 4 MB at most";
  }
  const std::vector<double> difference = test::numbers_of(out, "the two additive ways differ by");
  ASSERT_EQ(difference.size(), 1U);
  EXPECT_LT(difference[0], 1e-5);
}

}  // namespace
}  // namespace gaze
