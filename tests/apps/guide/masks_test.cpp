// Masked softmax of the scores 2, 1, 0, 3, computed here over the keys that may be seen.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

// Weights of the four keys and the output, of values 10, 20, 30, 999; zeros where no key is seen.
std::vector<double> seeing(const std::vector<bool>& seen) {
  const double scores[] = {2, 1, 0, 3}, values[] = {10, 20, 30, 999};
  std::vector<double> row(5);
  double sum = 0;
  for (int s = 0; s < 4; ++s) sum += seen[s] ? std::exp(scores[s]) : 0;
  for (int s = 0; s < 4 && sum > 0; ++s) {
    row[s] = seen[s] ? std::exp(scores[s]) / sum : 0;
    row[4] += row[s] * values[s];
  }
  return row;
}

TEST(Masks, leave_the_weights_of_the_keys_that_are_seen) {
  const std::string out = test::printed_by("masks");
  const auto expect = [&](const std::string& label, const std::vector<double>& numbers) {
    test::expect_numbers(test::numbers_of(out, label), numbers, 1.1e-3, label);
  };
  expect("no mask", seeing({true, true, true, true}));
  expect("key 4 is padding", seeing({true, true, true, false}));
  expect("causal, query 1", seeing({true, false, false, false}));
  expect("causal, query 2", seeing({true, true, false, false}));
  expect("causal, query 3", seeing({true, true, true, false}));
  expect("causal, query 4", seeing({true, true, true, true}));
  expect("causal, newest query", seeing({true, true, true, true}));
  expect("all masked, with -1e+09", {0.25, 0.25, 0.25, 0.25, (10 + 20 + 30 + 999) / 4.});
  expect("all masked, with -inf", {NAN, NAN, NAN, NAN, NAN});
  expect("all masked, gaze", {0, 0, 0, 0, 0});
  expect("padding holds -1e30", seeing({true, true, true, false}));
}

}  // namespace
}  // namespace gaze
