#include "models/decoder/search.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "models/decoder/caption_decoder.h"
#include "models/decoder/vocabulary.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

constexpr int64_t kWords = 3;  // beside the 4 special entries
using Tokens = std::vector<int64_t>;

// A decoder of three words whose random preferences are strong enough to differ.
CaptionDecoder make(uint64_t seed, int64_t words = kWords, int64_t max_tokens = 6) {
  torch::manual_seed(seed);
  CaptionDecoderOptions options;
  options.vocabulary = 4 + words;
  options.visual_width = 5;
  options.width = 8;
  options.heads = 2;
  options.layers = 1 + static_cast<int64_t>(seed % 2);
  options.feed_forward = 16;
  options.max_tokens = max_tokens;
  CaptionDecoder decoder(options);
  torch::NoGradGuard no_grad;
  decoder->named_parameters()["output.weight"].mul_(2);
  decoder->eval();
  return decoder;
}

torch::Tensor pictures(CaptionDecoder& decoder, int64_t count) {
  torch::NoGradGuard no_grad;
  return decoder->embed_picture(3 * torch::randn({count, 5, 2, 3}));
}

// log p of each token of a caption, from one teacher-forced pass.
std::vector<double> log_probabilities(CaptionDecoder& decoder, const torch::Tensor& memory,
                                      const Tokens& tokens) {
  torch::NoGradGuard no_grad;
  Tokens input = {Vocabulary::kStart};
  input.insert(input.end(), tokens.begin(), tokens.end() - 1);
  const torch::Tensor all = decoder->forward(torch::tensor(input, torch::kLong).unsqueeze(0), memory)[0]
                                .to(torch::kDouble)
                                .log_softmax(1);
  std::vector<double> each;
  for (size_t t = 0; t < tokens.size(); ++t)
    each.push_back(all[static_cast<int64_t>(t)][tokens[t]].item<double>());
  return each;
}

double score(double log_probability, size_t length, double penalty) {
  return log_probability / std::pow((5.0 + static_cast<double>(length)) / 6.0, penalty);
}

TEST(Search, greedy_takes_the_best_word_each_time) {
  for (uint64_t seed = 100; seed < 140; ++seed) {
    CaptionDecoder decoder = make(seed);
    const torch::Tensor memory = pictures(decoder, 1);
    Tokens expected;
    while (expected.empty() || (expected.back() != Vocabulary::kEnd && expected.size() < 5)) {
      Tokens best;
      double highest = -std::numeric_limits<double>::infinity();
      for (const int64_t next : {int64_t{2}, int64_t{4}, int64_t{5}, int64_t{6}}) {
        Tokens longer = expected;
        longer.push_back(next);
        const double value = log_probabilities(decoder, memory, longer).back();
        if (value > highest) {
          highest = value;
          best = longer;
        }
      }
      expected = best;
    }
    SearchOptions options;
    options.beam = 1;
    const Hypothesis found = search(*decoder, memory, options)[0][0];
    // After the fifth and last word only the end may follow.
    if (expected.back() != Vocabulary::kEnd && found.finished) expected.push_back(Vocabulary::kEnd);
    EXPECT_EQ(found.tokens, expected) << "seed " << seed;
    EXPECT_EQ(found.finished, found.tokens.back() == Vocabulary::kEnd);
  }
}

TEST(Search, one_batch_gives_what_single_pictures_give) {
  for (uint64_t seed = 200; seed < 230; ++seed) {
    CaptionDecoder decoder = make(seed, 12, 10);
    const torch::Tensor memory = pictures(decoder, 5);
    SearchOptions options;
    options.beam = 1 + static_cast<int64_t>(seed % 4);
    options.best = options.beam;
    const auto together = search(*decoder, memory, options);
    ASSERT_EQ(together.size(), 5U);
    for (int64_t b = 0; b < 5; ++b) {
      const auto alone = search(*decoder, memory.narrow(0, b, 1), options)[0];
      const auto& batched = together[static_cast<size_t>(b)];
      ASSERT_EQ(batched.size(), alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(batched[i].tokens, alone[i].tokens)
            << "seed " << seed << ", picture " << b << ", rank " << i;
        EXPECT_NEAR(batched[i].score, alone[i].score, 1e-5);
        ASSERT_EQ(batched[i].maps.size(), alone[i].maps.size());
        for (size_t t = 0; t < alone[i].maps.size(); ++t) {
          EXPECT_LT((batched[i].maps[t] - alone[i].maps[t]).abs().max().item<double>(), 1e-5);
        }
      }
    }
  }
}

// What comes back of a hypothesis is what the decoder says when it is led through its tokens alone.
TEST(Search, probabilities_and_maps_belong_to_their_tokens) {
  for (uint64_t seed = 300; seed < 320; ++seed) {
    CaptionDecoder decoder = make(seed, 12, 10);
    const torch::Tensor memory = pictures(decoder, 3);
    SearchOptions options;
    options.beam = 4;
    options.best = 4;
    const auto found = search(*decoder, memory, options);
    torch::NoGradGuard no_grad;
    for (int64_t b = 0; b < 3; ++b) {
      const torch::Tensor own = memory.narrow(0, b, 1);
      for (const Hypothesis& hypothesis : found[static_cast<size_t>(b)]) {
        ASSERT_EQ(hypothesis.tokens.size(), hypothesis.maps.size());
        ASSERT_EQ(hypothesis.tokens.size(), hypothesis.log_probabilities.size());
        const std::vector<double> expected = log_probabilities(decoder, own, hypothesis.tokens);
        DecoderState state = decoder->begin(own);
        int64_t last = Vocabulary::kStart;
        double sum = 0;
        for (size_t t = 0; t < hypothesis.tokens.size(); ++t) {
          const DecoderStep step = decoder->step(state, torch::tensor({last}));
          EXPECT_NEAR(hypothesis.log_probabilities[t], expected[t], 1e-5);
          ASSERT_EQ(hypothesis.maps[t].sizes(), (std::vector<int64_t>{2, 6}));
          EXPECT_LT((hypothesis.maps[t] - step.map[0]).abs().max().item<double>(), 1e-5);
          sum += hypothesis.log_probabilities[t];
          last = hypothesis.tokens[t];
        }
        EXPECT_NEAR(hypothesis.log_probability, sum, 1e-9);
        EXPECT_NEAR(hypothesis.score, score(sum, hypothesis.tokens.size(), 0.7), 1e-9);
      }
    }
  }
}

TEST(Search, captions_are_sorted_distinct_and_the_first_does_not_depend_on_best) {
  for (uint64_t seed = 400; seed < 420; ++seed) {
    CaptionDecoder decoder = make(seed, 12, 10);
    const torch::Tensor memory = pictures(decoder, 2);
    SearchOptions options;
    options.beam = 5;
    options.best = 5;
    const auto many = search(*decoder, memory, options);
    options.best = 1;
    const auto one = search(*decoder, memory, options);
    for (size_t b = 0; b < 2; ++b) {
      std::set<Tokens> distinct;
      for (size_t i = 0; i < many[b].size(); ++i) {
        distinct.insert(many[b][i].tokens);
        if (i > 0 && many[b][i].finished == many[b][i - 1].finished)
          EXPECT_LE(many[b][i].score, many[b][i - 1].score);
        if (i > 0) EXPECT_LE(many[b][i].finished, many[b][i - 1].finished);
      }
      EXPECT_EQ(distinct.size(), many[b].size());
      ASSERT_EQ(one[b].size(), 1U);
      EXPECT_EQ(one[b][0].tokens, many[b][0].tokens);
    }
  }
}

TEST(Search, special_words_are_never_said) {
  CaptionDecoder decoder = make(7);
  {
    torch::NoGradGuard no_grad;
    for (const int64_t id : {Vocabulary::kPad, Vocabulary::kStart, Vocabulary::kUnknown}) {
      decoder->named_parameters()["output.bias"][id] = 50;
    }
  }
  SearchOptions options;
  options.best = 3;
  for (const auto& captions : search(*decoder, pictures(decoder, 4), options)) {
    for (const Hypothesis& hypothesis : captions) {
      for (const int64_t token : hypothesis.tokens) {
        EXPECT_TRUE(token == Vocabulary::kEnd || token >= Vocabulary::kSpecials) << token;
      }
    }
  }
}

TEST(Search, a_caption_that_does_not_end_comes_back_unfinished) {
  CaptionDecoder decoder = make(9);
  {
    torch::NoGradGuard no_grad;
    decoder->named_parameters()["output.bias"][Vocabulary::kEnd] = -1e4;
  }
  const torch::Tensor memory = pictures(decoder, 2);
  for (const int64_t beam : {1, 3}) {
    for (const int64_t words : {1, 3, 50}) {
      SearchOptions options;
      options.beam = beam;
      options.best = beam;
      options.max_words = words;
      for (const auto& captions : search(*decoder, memory, options)) {
        ASSERT_EQ(static_cast<int64_t>(captions.size()), beam);
        for (const Hypothesis& hypothesis : captions) {
          EXPECT_FALSE(hypothesis.finished);
          // max_tokens 6 leaves 5 words and the end.
          EXPECT_EQ(static_cast<int64_t>(hypothesis.tokens.size()), std::min<int64_t>(words, 5));
          EXPECT_EQ(hypothesis.maps.size(), hypothesis.tokens.size());
        }
      }
    }
  }
}

TEST(Search, a_caption_may_end_after_its_last_word) {
  CaptionDecoder decoder = make(9);
  {
    torch::NoGradGuard no_grad;
    decoder->named_parameters()["output.weight"].zero_();
    decoder->named_parameters()["output.bias"].copy_(torch::tensor({0., 0., 1., 0., 2., 0., 0.}));
  }
  SearchOptions options;
  options.max_words = 1;
  options.best = 3;
  const std::vector<Hypothesis> found = search(*decoder, pictures(decoder, 1), options)[0];
  // p(end) < p(word 4): the one-word caption ends second best and the empty one ranks second at the first
  // step.
  const double norm = std::log(std::exp(1.) + std::exp(2.) + 5);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].tokens, (Tokens{2}));
  EXPECT_NEAR(found[0].log_probability, 1 - norm, 1e-6);
  EXPECT_EQ(found[1].tokens, (Tokens{4, 2}));
  EXPECT_NEAR(found[1].log_probability, 3 - 2 * norm, 1e-6);
  EXPECT_TRUE(found[1].finished);
  EXPECT_FALSE(found[2].finished);
  EXPECT_EQ(found[2].tokens.size(), 1U);
}

TEST(Search, a_strong_length_penalty_is_not_stopped_short) {
  CaptionDecoder decoder = make(9, kWords, 9);
  {
    torch::NoGradGuard no_grad;
    decoder->named_parameters()["output.weight"].zero_();
    const double never = -50, end = std::log(0.6), word = std::log(0.3), other = std::log(0.05);
    decoder->named_parameters()["output.bias"].copy_(
        torch::tensor({never, never, end, never, word, other, other}));
  }
  SearchOptions options;
  options.beam = 2;
  options.length_penalty = 4;
  const Hypothesis found = search(*decoder, pictures(decoder, 1), options)[0][0];
  // To end at once scores log 0.6 = -0.51, and one word has log 0.3 / (7/6)^4 = -0.65 already: but eight of
  // them and the end come to (8 log 0.3 + log 0.6) / (14/6)^4 = -0.34.
  EXPECT_EQ(found.tokens, (Tokens{4, 4, 4, 4, 4, 4, 4, 4, 2}));
  EXPECT_NEAR(found.score, (8 * std::log(0.3) + std::log(0.6)) / std::pow(14.0 / 6, 4), 1e-6);
}

TEST(Search, nothing_in_nothing_out) {
  CaptionDecoder decoder = make(1);
  EXPECT_TRUE(search(*decoder, torch::zeros({0, 6, 8}), SearchOptions()).empty());
}

TEST(Search, leaves_the_decoder_as_it_was) {
  CaptionDecoder decoder = make(1);
  decoder->train();
  const torch::Tensor memory = torch::randn({1, 6, 8});
  const auto first = search(*decoder, memory, SearchOptions()),
             second = search(*decoder, memory, SearchOptions());
  EXPECT_TRUE(decoder->is_training());
  EXPECT_EQ(first[0][0].score, second[0][0].score);  // without dropout
  EXPECT_FALSE(first[0][0].maps[0].requires_grad());
}

TEST(Search, errors_state_the_range) {
  CaptionDecoder decoder = make(1);
  const torch::Tensor memory = torch::zeros({1, 6, 8});
  SearchOptions options;
  options.beam = 0;
  EXPECT_THROWS_WITH(search(*decoder, memory, options), ArgumentError,
                     "[search] expected beam >= 1; got beam 0");
  options = {};
  options.best = 4;
  EXPECT_THROWS_WITH(search(*decoder, memory, options), ArgumentError,
                     "[search] expected best in 1..beam (3); got best 4");
  options.best = 0;
  EXPECT_THROWS_WITH(search(*decoder, memory, options), ArgumentError,
                     "[search] expected best in 1..beam (3); got best 0");
  options = {};
  options.max_words = 0;
  EXPECT_THROWS_WITH(search(*decoder, memory, options), ArgumentError,
                     "[search] expected max_words >= 1; got max_words 0");
  options = {};
  options.length_penalty = std::nan("");
  EXPECT_THROWS_WITH(search(*decoder, memory, options), ArgumentError,
                     "[search] expected a finite length_penalty; got length_penalty nan");
  EXPECT_THROWS_WITH(search(*decoder, torch::zeros({1, 6, 7}), SearchOptions()), ArgumentError,
                     "[caption_decoder] expected memory [B, S, D=8]; got memory [1, 6, 7]");
  EXPECT_THROWS_WITH(search(*decoder, torch::full({1, 6, 8}, NAN), SearchOptions()), ArgumentError,
                     "[search] expected finite memory; got memory with NaN or infinity");
}

}  // namespace
}  // namespace gaze::models
