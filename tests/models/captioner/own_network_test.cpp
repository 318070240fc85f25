// A person's own torchvision network through a decoder that was made for another one.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "models/backbone/load_backbone.h"
#include "models/captioner/captioner.h"
#include "models/checkpoint/safetensors.h"
#include "models/decoder/caption_decoder.h"
#include "models/decoder/vocabulary.h"
#include "models/image/image.h"
#include "tests/models/backbone/golden_network.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

// The largest error of a difference of two logits, each within 1e-5 of the largest, and of float32 softmax.
constexpr double kMaxError = 5e-5;

Captioner captioner_of_lite0() {
  torch::manual_seed(1);
  const auto backbone = make_backbone("efficientnet_lite0");
  const Vocabulary vocabulary = Vocabulary::from_captions({"a dog on grass"});
  CaptionDecoderOptions options;
  options.vocabulary = vocabulary.size();
  CaptionDecoder decoder(options);
  return Captioner(make_model_file(*backbone, *decoder, vocabulary, efficientnet_lite_preprocessing(),
                                   nlohmann::json::object()));
}

// Per cell, log p_k - log p_0 = z_k - z_0, and the mean of the cells' logits are the network's: torchvision's
// own numbers.
TEST(OwnNetwork, speaks_with_torchvision_s_evidence) {
  const test::TemporaryFolder folder;
  for (const char* name : {"resnet18", "resnet50"}) {
    const nlohmann::json golden = test::golden_file(name);
    write_safetensors(folder.path() / "own.safetensors",
                      {state_dict(*test::golden_network(golden, name)), {}});
    Captioner captioner = captioner_of_lite0();
    captioner.use_backbone(load_backbone(name, folder.path() / "own.safetensors"));

    const Image picture = load_image(GAZE_SOURCE_DIR "/tests/golden/backbone/picture.png");
    const CaptionedImage result = captioner.caption({picture}, SearchOptions())[0];
    ASSERT_EQ(result.evidence.probabilities.sizes(), (std::vector<int64_t>{49, 1000}));
    ASSERT_FALSE(result.captions.empty());

    // The first case is the centre 224 x 224 of the 256 x 256 picture: what the captioner's preprocessing
    // sees.
    const nlohmann::json& expected = golden.at("cases").at(0);
    const torch::Tensor logits =
        torch::tensor(expected.at("logits").get<std::vector<double>>(), torch::kDouble);
    const torch::Tensor log_p = result.evidence.probabilities.to(torch::kDouble).log().mean(0);
    const torch::Tensor error = ((log_p - log_p[0]) - (logits - logits[0])).abs().max();
    const double relative = error.item<double>() / expected.at("max_abs_logit").get<double>();
    fmt::print("{}: largest error {:.1e} of the largest logit\n", name, relative);
    EXPECT_LT(relative, kMaxError);
  }
}

}  // namespace
}  // namespace gaze::models
