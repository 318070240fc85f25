// Attention in the place of an LSTM: the sizes by their formulas, the bits between what pairs of letters give
// and what nobody reaches who does not see what comes.
#include <cmath>

#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

// Bits a character of the last tenth, by the counts of pairs in the rest, each begun at 0.1.
double bits_of_pairs() {
  std::istringstream file(test::guide_text("alice.txt"));
  std::string text;
  for (std::string word; file >> word;) text += word + " ";
  const size_t read = text.size() * 9 / 10;
  constexpr size_t V = 128;
  std::vector<double> pairs(V * V, 0.1), letters(V, 0.1 * V);
  for (size_t i = 1; i < read; ++i) {
    pairs[text[i - 1] * V + text[i]] += 1;
    letters[text[i - 1]] += 1;
  }
  double bits = 0;
  for (size_t i = read; i < text.size(); ++i)
    bits -= std::log2(pairs[text[i - 1] * V + text[i]] / letters[text[i - 1]]);
  return bits / (text.size() - read);
}

TEST(LanguageModel, both_cores_learn_more_than_pairs_of_letters) {
  const std::string out = test::printed_by("language_model");
  const std::vector<double> attention = test::numbers_of(out, "attention"),
                            lstm = test::numbers_of(out, "LSTM");
  ASSERT_EQ(attention.size(), 3U) << out;
  ASSERT_EQ(lstm.size(), 3U) << out;
  constexpr double D = 64, V = 128, F = 4 * D, H = 122;
  const double layer = 4 * (D * D + D) + (D * F + F) + (F * D + D) + 4 * D;
  EXPECT_EQ(attention[0], V * D + 2 * layer + D * V + V);
  EXPECT_EQ(lstm[0], V * D + 4 * H * (D + H + 2) + H * V + V);
  EXPECT_NEAR(lstm[0] / attention[0], 1, 0.03);
  const double pairs = bits_of_pairs();
  EXPECT_GT(pairs, 3);
  for (const std::vector<double>* const core : {&attention, &lstm}) {
    EXPECT_LT((*core)[1], pairs - 0.5) << out;
    EXPECT_GT((*core)[1], 1.7) << out << "so little is known only to who sees the next letter";
    EXPECT_GT((*core)[2], 0);
  }
}

}  // namespace
}  // namespace gaze
