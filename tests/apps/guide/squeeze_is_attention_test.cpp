// Gates of the hand-made map, from their formulas.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(SqueezeIsAttention, gates_follow_the_channels_and_the_spot) {
  const std::string out = test::printed_by("squeeze_is_attention");
  const std::string spots[] = {"spot in row 1, column 3\n", "spot in row 4, column 0\n"};
  // Means of the channels 1, 5/25, 0 and maxima 1, 5, 0; layers(z) = 2 relu(z) - 1, for CBAM of both, added.
  const std::vector<double> se = {sigmoid(1), sigmoid(-0.6), sigmoid(-1)};
  const std::vector<double> channel = {sigmoid(1 + 1), sigmoid(-0.6 + 9), sigmoid(-1 - 1)};
  for (const auto& [row, column] : {std::pair{1, 3}, std::pair{4, 0}}) {
    const size_t start = out.find(spots[row == 4]);
    ASSERT_NE(start, std::string::npos);
    const std::string printed = out.substr(start);
    test::expect_numbers(test::numbers_of(printed, "se/channel"), se, 6e-4, "se");
    test::expect_numbers(test::numbers_of(printed, "cbam/channel"), channel, 6e-4, "cbam");
    std::istringstream cells(printed.substr(printed.find("cbam/spatial") + 12));
    for (int h = 0; h < 5; ++h) {
      for (int w = 0; w < 5; ++w) {
        double gate = NAN;
        cells >> gate;
        const double largest = h == row && w == column ? 5 * channel[1] : channel[0];
        EXPECT_NEAR(gate, sigmoid(largest - 2), 6e-4) << "cell " << h << ", " << w;
      }
    }
  }
}

}  // namespace
}  // namespace gaze
