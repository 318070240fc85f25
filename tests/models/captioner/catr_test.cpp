// CATR with golden weights says what its original code says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/captioner/captioner.h"
#include "models/captioner/published_captioner.h"
#include "models/decoder/wordpiece.h"
#include "modules/core/error.h"
#include "tests/models/captioner/golden_captioner.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using test::golden_folder;

// As many tokens as BERT has, the special ones where BERT has them.
WordPiece vocabulary() {
  std::vector<std::string> tokens;
  for (int64_t i = 0; i < 30522; ++i) tokens.push_back("w" + std::to_string(i));
  tokens[0] = "[PAD]";
  tokens[100] = "[UNK]";
  tokens[101] = "[CLS]";
  tokens[102] = "[SEP]";
  tokens[103] = "[MASK]";
  return WordPiece(std::move(tokens));
}

class CatrCaptioner : public ::testing::Test {
 protected:
  static const nlohmann::json& golden() {
    static const nlohmann::json golden = test::read_json(golden_folder() / "captioning" / "catr.json");
    return golden;
  }
};

TEST_F(CatrCaptioner, says_what_the_original_code_says) {
  const std::optional<PublishedCaptioner> published =
      published_captioner(test::golden_state(golden(), "backbone."));
  ASSERT_TRUE(published);
  EXPECT_EQ(published->name, "CATR");
  EXPECT_EQ(published->backbone, "resnet101");
  EXPECT_EQ(published->stride, 16);
  Captioner captioner(model_of(*published, vocabulary()));
  SearchOptions greedy;
  greedy.beam = 1;
  test::Parity parity;
  for (const nlohmann::json& expected : golden()["captions"]) {
    const auto picture = expected["picture"].get<std::string>();
    std::map<size_t, std::vector<float>> maps;
    for (const auto& [word, map] : expected["maps"].items())
      maps.emplace(std::stoul(word), map.get<std::vector<float>>());
    ASSERT_FALSE(maps.empty());
    parity.compare(captioner.caption({load_image(golden_folder() / picture)}, greedy).front(), expected, maps,
                   picture);
  }
  parity.judge();
}

TEST_F(CatrCaptioner, other_tensors_are_told) {
  const StateDict all = test::golden_state(golden(), "backbone.");
  StateDict state = all;
  state["backbone.1.row_embed.weight"] = torch::zeros({50, 128});  // of its learned positions
  EXPECT_THROWS_WITH(
      published_captioner(state), ArgumentError,
      "[catr] expected the tensors of its encoder and decoder; got backbone.1.row_embed.weight too");
  state = all;
  state.erase("transformer.encoder.norm.weight");
  EXPECT_THROWS_WITH(published_captioner(state), ArgumentError,
                     "[catr] expected the tensor transformer.encoder.norm.weight, which networks with "
                     "pre_norm have; got none");
  state = all;
  state.erase("transformer.decoder.layers.3.norm2.bias");
  EXPECT_THROWS_WITH(published_captioner(state), ArgumentError,
                     "[catr] transformer.decoder.layers.3. is no layer: [transformer] expected a tensor "
                     "norm2.bias; got none");
  state = all;
  state.erase("mlp.layers.0.weight");
  EXPECT_THROWS_WITH(published_captioner(state), ArgumentError,
                     "[catr] expected the tensor decoder.hidden.0.weight; got none");
  state = all;
  state["input_proj.weight"] = torch::zeros({256, 2048, 3, 3});
  EXPECT_THROWS_WITH(published_captioner(state), ArgumentError,
                     "[catr] expected input_proj.weight [D, K, 1, 1]; got [256, 2048, 3, 3]");
}

}  // namespace
}  // namespace gaze::models
