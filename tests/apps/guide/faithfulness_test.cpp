// What weights of attention say about an answer, with and without a network that mixes words before.
#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

enum Column { right, weights_gradient, weights_out, gradient_out, shuffled, unseen, out_of_text };

TEST(Faithfulness, weights_tell_less_once_the_words_are_mixed) {
  const std::string out = test::printed_by("faithfulness");
  const std::vector<double> words = test::numbers_of(out, "words"),
                            states = test::numbers_of(out, "states of an LSTM");
  ASSERT_EQ(words.size(), 7U) << out;
  ASSERT_EQ(states.size(), 7U) << out;
  EXPECT_GT(words[right], 0.8);  // about 0.6 of the texts are not good
  EXPECT_GT(states[right], 0.9);

  // Without mixing, a word without weight is a word left out: the others' weights grow alike in both.
  EXPECT_NEAR(words[unseen], words[out_of_text], 0.011);
  EXPECT_GT(words[unseen], 0.1);
  EXPECT_GT(words[weights_out], 0.7);
  EXPECT_GT(words[weights_gradient], 0.7);

  // With it, the word is in its neighbours' states, too.
  EXPECT_GT(states[out_of_text], states[unseen] + 0.1);
  EXPECT_LT(states[weights_out], words[weights_out] - 0.15);
  EXPECT_LT(states[weights_gradient], words[weights_gradient] - 0.15);
  EXPECT_LT(1.2 * states[shuffled], states[out_of_text]);
  EXPECT_LT(1.2 * states[shuffled], words[shuffled]);
  for (const Column column : {weights_gradient, weights_out, gradient_out}) {
    EXPECT_GT(states[column], 0.1) << column;  // the gradient and the words left out agree with something
    EXPECT_LT(states[column], 0.9) << column;
  }
}

}  // namespace
}  // namespace gaze
