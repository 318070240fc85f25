// What must not change does not, what must does; and the products of sinusoidal codes are sums of cosines.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

TEST(Positions, attention_is_blind_to_order_without_them) {
  const std::string out = test::printed_by("positions");
  const auto changes = [&](const std::string& label) {
    std::vector<double> numbers = test::numbers_of(out, label);
    numbers.resize(2, NAN);  // [0] when shuffled, [1] when moved
    return numbers;
  };
  test::expect_numbers(changes("no positions"), {0, 0}, 1e-4, "no positions");
  EXPECT_GT(changes("sinusoidal codes")[0], 0.01);
  EXPECT_GT(changes("sinusoidal codes")[1], 0.01);
  EXPECT_GT(changes("relative bias")[0], 0.01);
  EXPECT_NEAR(changes("relative bias")[1], 0, 1e-4);
}

TEST(Positions, products_of_codes_depend_on_their_distance) {
  const std::string out = test::printed_by("positions");
  std::vector<double> expected;
  for (const int distance : {0, 1, 2, 10, 100}) {
    double sum = 0;
    for (int i = 0; i < 32; ++i) sum += std::cos(distance / std::pow(10000, 2 * i / 64.));
    expected.push_back(sum);
  }
  test::expect_numbers(test::numbers_of(out, "from place 0"), expected, 0.006, "from place 0");
  test::expect_numbers(test::numbers_of(out, "from place 500"), expected, 0.006, "from place 500");
}

}  // namespace
}  // namespace gaze
