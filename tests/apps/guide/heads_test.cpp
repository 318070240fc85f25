// One head halves its weight between two keys that fit alike; two heads give each of them all.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

TEST(Heads, two_see_what_one_mixes) {
  const std::string out = test::printed_by("heads");
  const size_t start = out.find("\n2 heads");
  ASSERT_NE(start, std::string::npos);
  const std::string one = out.substr(0, start), two = out.substr(start);
  // Scores are 60 / sqrt(width of a head) at the keys that fit, 0 at the others; "it" does not see itself.
  const double e1 = std::exp(60 / std::sqrt(64)), e2 = std::exp(60 / std::sqrt(32));
  const auto row = [](double cat, double purred, double other) {
    return std::vector<double>{other, other, other, cat, other, 0, purred};
  };
  const auto expect = [&](const std::string& text, const std::string& label, const std::vector<double>& row) {
    test::expect_numbers(test::numbers_of(text, label), row, 1e-3, label);
  };
  expect(one, "head 1", row(e1 / (2 * e1 + 4), e1 / (2 * e1 + 4), 1 / (2 * e1 + 4)));
  expect(two, "head 1", row(e2 / (e2 + 5), 1 / (e2 + 5), 1 / (e2 + 5)));
  expect(two, "head 2", row(1 / (e2 + 5), e2 / (e2 + 5), 1 / (e2 + 5)));
  // Exchanged contents: in a mixture of halves nothing happens; a head that sees one of them alone moves from
  // a place's unit vector to another's, and so does the other head.
  expect(one, "exchange changes output", {0});
  expect(two, "exchange changes output", {2});
}

}  // namespace
}  // namespace gaze
