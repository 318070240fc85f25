// How far back an LSTM and attention remember, and the laws that their gradients follow.
#include <cmath>

#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

TEST(PathLength, steps_in_between_are_what_an_lstm_loses_a_value_by) {
  const std::string out = test::printed_by("path_length");
  std::vector<double> recurrent, attention;  // gradients
  const std::vector<int> distances{1, 3, 10, 30, 100};
  for (const int distance : distances) {
    const std::vector<double> row = test::numbers_of(out, std::to_string(distance));
    ASSERT_EQ(row.size(), 4U) << out;
    recurrent.push_back(row[0]);
    attention.push_back(row[1]);
    if (distance <= 3) EXPECT_GE(row[2], 95) << "LSTM at " << distance;
    if (distance == 100) EXPECT_NEAR(row[2], 100.0 / 8, 5) << "an LSTM that guesses among 8 values";
    EXPECT_GE(row[3], distance <= 3 ? 95 : 50) << "attention at " << distance;
  }
  for (size_t i = 1; i < distances.size(); ++i) {
    // Forget gates start around 1/2, so the path through the cells loses ln 2 a step, and others add to it.
    const double a_step = std::log(recurrent[i - 1] / recurrent[i]) / (distances[i] - distances[i - 1]);
    EXPECT_GT(a_step, 0.3) << out;
    EXPECT_LT(a_step, std::log(2)) << out;
  }
  // Untrained attention looks at all T = distance + 1 tokens alike: what reaches one is 1/T.
  for (size_t i = 0; i < distances.size(); ++i) {
    const double share = attention[i] * (distances[i] + 1) / (attention[0] * (distances[0] + 1));
    EXPECT_GT(share, 1.0 / 8) << out;
    EXPECT_LT(share, 8) << out;
  }
}

}  // namespace
}  // namespace gaze
