// The weights of three scores, one apart, wherever they lie; and where the naive formula stops having them.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

TEST(StableSoftmax, has_the_same_weights_at_every_height_of_the_scores) {
  const std::string out = test::printed_by("stable_softmax");
  const double sum = 1 + std::exp(-1) + std::exp(-2), inf = INFINITY;
  const std::vector<double> weights = {1 / sum, std::exp(-1) / sum, std::exp(-2) / sum};
  // float32 ends at 3.4e38 = e^88.7, and below e^-104 there is only 0
  for (const double m : {0., 50., 88., 89., 100., 1000., 1e4, -200., -1e4}) {
    const std::string label = std::to_string(static_cast<int>(m));
    const std::vector<double> row = test::numbers_of(out, label);
    ASSERT_EQ(row.size(), 10U) << label;
    if (m > 88) {
      EXPECT_EQ(row[0], inf) << label;
    } else {
      EXPECT_NEAR(row[0], m < 0 ? 0 : std::exp(m), 0.05 * std::exp(m)) << label;
    }
    std::vector<double> naive = weights;
    if (m > 88 || m < -104) naive = {NAN, NAN, NAN};
    if (m == 89) naive = {NAN, 0, 0};  // inf / inf, e^88 / inf, e^87 / inf
    test::expect_numbers({row.begin() + 1, row.begin() + 4}, naive, 5e-4, label + ", naive");
    test::expect_numbers({row.begin() + 4, row.begin() + 7}, weights, 5e-4, label + ", subtracted");
    test::expect_numbers({row.begin() + 7, row.end()}, weights, 5e-4, label + ", attend");
  }
}

}  // namespace
}  // namespace gaze
