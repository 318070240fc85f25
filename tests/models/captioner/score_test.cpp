// Given captions, and drawn ones, of several pictures at once.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"
#include "tests/support/tiny_captioner.h"

namespace gaze::models {
namespace {

Image picture(int64_t width, int64_t height, int shade) {
  Image image{width, height, {}, 1};
  for (int64_t i = 0; i < width * height * 3; ++i) {
    image.rgb.push_back(static_cast<uint8_t>((i * shade + i / 97) % 256));
  }
  return image;
}

// Pictures of two shapes, which go through the network apart, in turn.
std::vector<Image> pictures() {
  return {picture(64, 64, 3), picture(64, 32, 5), picture(64, 64, 7), picture(64, 32, 11)};
}

Captioner tiny() {
  ModelFile model = test::tiny_caption_model();
  model.description["preprocessing"]["mode"] = "fit";
  return Captioner(model);
}

TEST(CaptionerScore, says_of_a_given_text_what_a_search_says_that_finds_it) {
  Captioner captioner = tiny();
  SearchOptions options;
  options.best = 3;
  const std::vector<Image> images = pictures();
  const std::vector<CaptionedImage> found = captioner.caption(images, options);
  for (size_t b = 0; b < images.size(); ++b) {
    for (const Caption& expected : found[b].captions) {
      if (!expected.finished) continue;
      // Of all pictures, so that each batch holds more than this one.
      const CaptionedImage scored = captioner.score(images, expected.text, options)[b];
      EXPECT_EQ(scored.rows, found[b].rows);
      ASSERT_EQ(scored.captions.size(), 1U);
      const Caption& caption = scored.captions[0];
      EXPECT_EQ(caption.text, expected.text);
      EXPECT_EQ(caption.tokens, expected.tokens);
      EXPECT_TRUE(caption.finished);
      EXPECT_NEAR(caption.log_probability, expected.log_probability, 1e-5);
      EXPECT_NEAR(caption.score, expected.score, 1e-5);
      ASSERT_EQ(caption.words.size(), expected.words.size());
      for (size_t i = 0; i < caption.words.size(); ++i) {
        EXPECT_NEAR(caption.words[i].log_probability, expected.words[i].log_probability, 1e-5);
        EXPECT_LT((caption.words[i].map - expected.words[i].map).abs().max().item<double>(), 1e-5);
      }
    }
  }
}

TEST(CaptionerScore, a_text_of_too_many_words_is_told) {
  Captioner captioner = tiny();
  EXPECT_THROWS_WITH(captioner.score({picture(64, 64, 3)}, "a a a a a a a a a", SearchOptions()),
                     ArgumentError, "[search] expected 1..9 tokens to score, the end token included; got 10");
  EXPECT_TRUE(captioner.score({}, "a", SearchOptions()).empty());
}

TEST(CaptionerSamples, belong_to_pictures_by_their_numbers) {
  Captioner captioner = tiny();
  SearchOptions options;
  options.sampling.samples = options.best = 3;
  options.sampling.temperature = 2;
  const std::vector<Image> images = pictures();
  const std::vector<CaptionedImage> together = captioner.caption(images, options);
  for (size_t b = 0; b < images.size(); ++b) {
    options.sampling.inputs = {b};
    const CaptionedImage alone = captioner.caption({images[b]}, options)[0];
    ASSERT_EQ(alone.captions.size(), together[b].captions.size());
    for (size_t i = 0; i < alone.captions.size(); ++i) {
      EXPECT_EQ(alone.captions[i].tokens, together[b].captions[i].tokens);
    }
  }
  options.sampling.inputs = {1, 2};
  EXPECT_THROWS_WITH(captioner.caption(images, options), ArgumentError,
                     "[captioner] expected numbers of 4 images; got 2");
}

}  // namespace
}  // namespace gaze::models
