// sgrvinod's captioner with golden weights says what its original code says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "models/captioner/captioner.h"
#include "models/captioner/published_captioner.h"
#include "models/decoder/word_map.h"
#include "modules/core/error.h"
#include "tests/models/captioner/golden_captioner.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using test::golden_folder;
using test::read_json;

WordMap word_map_of(const nlohmann::json& golden) {
  const gaze::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "words.json") << golden["word_map"].dump();
  return WordMap::from_file(folder.path() / "words.json");
}

// As the original searches: the beam shrinks, the sum of log-probabilities ranks, 50 words at most.
SearchOptions original_search(int64_t beam) {
  SearchOptions options;
  options.beam = beam;
  options.stopping = Stopping::shrink;
  options.length_penalty = 0;
  options.max_words = 50;
  return options;
}

TEST(SgrvinodCaptioner, says_what_the_original_code_says) {
  const nlohmann::json golden = read_json(golden_folder() / "captioning" / "sgrvinod.json");
  const std::optional<PublishedCaptioner> published =
      published_captioner(test::golden_state(golden, "encoder."));
  ASSERT_TRUE(published);
  EXPECT_EQ(published->backbone, "resnet101");
  Captioner captioner(model_of(*published, word_map_of(golden)));
  test::Parity parity;
  for (const nlohmann::json& expected : golden["captions"]) {
    const Image image = load_image(golden_folder() / expected["picture"].get<std::string>());
    const CaptionedImage found =
        captioner.caption({image}, original_search(expected["beam"].get<int64_t>())).front();
    EXPECT_EQ(found.rows, 14);
    std::map<size_t, std::vector<float>> maps;
    // The last is the end token's, which is no word.
    for (size_t t = 0; expected.contains("maps") && t + 1 < expected["maps"].size(); ++t)
      maps.emplace(t, expected["maps"][t].get<std::vector<float>>());
    parity.compare(found, expected, maps,
                   expected["picture"].get<std::string>() + " beam " + expected["beam"].dump());
  }
  parity.judge();
}

// A file of the original's classes, in the stream format of its time.
TEST(SgrvinodCaptioner, checkpoints_of_whole_modules_are_read) {
  const nlohmann::json expected = read_json(golden_folder() / "captioning" / "sgrvinod_checkpoint.json");
  const StateDict state = read_state_dict(golden_folder() / "captioning" / "sgrvinod.pth.tar");
  EXPECT_EQ(state.size(), expected["first_values"].size());
  for (const auto& [key, values] : expected["first_values"].items()) {
    ASSERT_EQ(state.count(key), 1) << key;
    const torch::Tensor flat = state.at(key).to(torch::kDouble).flatten();
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(flat[static_cast<int64_t>(i)].item<double>(), values[i].get<double>(), 1e-6) << key;
  }
}

TEST(SgrvinodCaptioner, other_tensors_are_told) {
  EXPECT_FALSE(published_captioner({{"conv1.weight", torch::zeros({64, 3, 7, 7})}}));
  StateDict state = {{"decoder.attention.full_att.weight", torch::zeros({1, 4})},
                     {"encoder.resnet.0.weight", torch::zeros({64, 3, 7, 7})},
                     {"decoder.memory.weight", torch::zeros({1})}};
  EXPECT_THROWS_WITH(
      published_captioner(state), ArgumentError,
      "[sgrvinod] expected the tensors of its encoder and decoder; got decoder.memory.weight too");
  state.erase("decoder.memory.weight");
  EXPECT_THROWS_WITH(published_captioner(state), ArgumentError,
                     "[sgrvinod] expected the tensor decoder.embedding.weight; got none");
  state["decoder.embedding.weight"] = torch::zeros({7, 4});
  state["decoder.attention.encoder_att.weight"] = torch::zeros({3, 6});
  state["decoder.fc.weight"] = torch::zeros({7});
  EXPECT_THROWS_WITH(published_captioner(state), ArgumentError,
                     "[sgrvinod] expected a matrix decoder.output.weight; got 1 axes");
  state["decoder.fc.weight"] = torch::zeros({7, 5});
  EXPECT_THROWS_WITH(published_captioner(state), ArgumentError,
                     "[sgrvinod] expected an encoder that is one of gaze's ResNets; got resnet2");
}

}  // namespace
}  // namespace gaze::models
