#include "models/explain/caption_maps.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/explain/word_scores.h"
#include "modules/core/error.h"
#include "tests/models/image/pictures.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"
#include "tests/support/tiny_captioner.h"

namespace gaze::models {
namespace {

class CaptionMapsTest : public testing::Test {
 protected:
  CaptionMapsTest()
      : captioner_([] {
          gaze::test::TinyCaptioner tiny;
          tiny.ends = false;
          return gaze::test::tiny_caption_model(tiny);
        }()) {
    Image image = test::filled(80, 60, {10, 200, 90});
    for (size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = static_cast<uint8_t>(i * 7 % 255);
    prepared_ = {preprocess(image, captioner_.preprocessing())};
    SearchOptions options;
    options.max_words = 3;
    caption_ = captioner_.caption_prepared(prepared_, options).front().captions.front();
  }

  at::Tensor x() const { return prepared_.front().input.unsqueeze(0); }

  Captioner captioner_;
  std::vector<PreparedImage> prepared_;
  Caption caption_;
};

TEST_F(CaptionMapsTest, word_scores_are_the_caption_s_log_probabilities) {
  const torch::NoGradGuard no_grad;
  const at::Tensor scores = word_scores(captioner_, caption_)(torch::cat({x(), x()}));  // [2, words]
  ASSERT_EQ(scores.size(0), 2);
  ASSERT_EQ(scores.size(1), static_cast<int64_t>(caption_.words.size()));
  for (size_t w = 0; w < caption_.words.size(); ++w) {
    for (int64_t b = 0; b < 2; ++b) {
      EXPECT_NEAR(scores[b][static_cast<int64_t>(w)].item<double>(), caption_.words[w].log_probability, 1e-4);
    }
  }
}

// Moving the picture a little along a direction changes a word's log-probability by what the gradient says:
// integrated gradients over that short way.
TEST_F(CaptionMapsTest, gradients_of_words_are_slopes) {
  const Scores scores = word_scores(captioner_, caption_);
  torch::Tensor point = x().clone().requires_grad_();
  const torch::Tensor word = scores(point)[0][1];
  const torch::Tensor gradient = torch::autograd::grad({word}, {point})[0];
  const torch::NoGradGuard no_grad;
  const torch::Tensor way = 1e-2 * gradient / gradient.norm();
  const double slope = (scores(x() + way) - scores(x() - way))[0][1].item<double>() / 2;
  EXPECT_NEAR(slope, (gradient * way).sum().item<double>(), 0.05 * std::abs(slope));
}

TEST_F(CaptionMapsTest, each_word_has_a_map_of_each_method) {
  for (const std::string& method : caption_map_methods()) {
    CaptionMapsOptions options;
    options.method = method;
    options.steps = 3;
    const CaptionMaps found = caption_maps(captioner_, prepared_.front().input, caption_, options);
    ASSERT_EQ(found.words.size(), caption_.words.size()) << method;
    EXPECT_EQ(found.words[0].size(0), method == "ig" ? 64 : 2) << method;
    EXPECT_EQ(found.layer, method == "ig" ? "" : "layer4");
    EXPECT_FALSE(found.words[0].equal(found.words[1])) << method;
    EXPECT_GT(found.words[0].abs().max().item<double>(), 0) << method;
  }
  CaptionMapsOptions unknown;
  unknown.method = "gradcan";
  EXPECT_THROWS_WITH(caption_maps(captioner_, prepared_.front().input, caption_, unknown), ArgumentError,
                     "[explain] unknown method \"gradcan\"; did you mean \"gradcam\"? known: gradcam, "
                     "gradcam++, hirescam");
}

}  // namespace
}  // namespace gaze::models
