// "I love cats": the numbers are those one gets by hand, to three digits.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

TEST(WorkedExample, prints_the_numbers_of_a_calculation_by_hand) {
  const std::string out = test::printed_by("worked_example");
  const auto expect = [&](const std::string& label, const std::vector<double>& numbers) {
    test::expect_numbers(test::numbers_of(out, label), numbers, 5e-4, label);
  };
  expect("query * key", {0.58, 0.46, 0.42});  // .6 * .9 + .4 * .1, .6 * .3 + .4 * .7, .6 * .1 + .4 * .9
  expect("score = that / sqrt(2)", {0.410, 0.325, 0.297});
  expect("exp(score)", {1.507, 1.384, 1.346});
  expect("weight = share of sum", {0.356, 0.327, 0.318});
  expect("weight * value, first", {0.320, 0.098, 0.032});
  expect("weight * value, second", {0.036, 0.229, 0.286});
  expect("context = their sum", {0.450, 0.550});
  expect("GlobalAttention", {0.450, 0.550});
  expect("[state; context]", {0.6, 0.4, 0.450, 0.550});
  expect("state + context", {1.050, 0.950});
  expect("half and half, by a gate", {0.525, 0.475});
}

}  // namespace
}  // namespace gaze
