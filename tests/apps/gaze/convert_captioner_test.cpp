// gaze convert of captioners that others have published, as a person runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "models/backbone/backbone.h"
#include "models/checkpoint/model_file.h"
#include "models/checkpoint/safetensors.h"
#include "models/decoder/lstm_decoder.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kWords[] =
    R"({"a": 1, "red": 2, "ball": 3, "<unk>": 4, "<start>": 5, "<end>": 6, "<pad>": 0})";

class ConvertCaptioner : public ::testing::Test {
 protected:
  // A captioner on ResNet-18 with random weights, by the names of sgrvinod's code.
  ConvertCaptioner() {
    torch::manual_seed(3);
    models::StateDict state;
    const auto add = [&](const std::string& prefix, const torch::nn::Module& module,
                         const std::vector<std::pair<std::string, std::string>>& names) {
      for (const auto& [key, tensor] : models::state_dict(module)) {
        for (const auto& [ours, theirs] : names) {
          if (key.rfind(ours, 0) == 0) state[prefix + theirs + key.substr(ours.size())] = tensor;
        }
      }
    };
    add("encoder.resnet.", *models::make_backbone("resnet18", 0),
        {{"conv1.", "0."},
         {"bn1.", "1."},
         {"layer1.", "4."},
         {"layer2.", "5."},
         {"layer3.", "6."},
         {"layer4.", "7."}});
    models::LstmDecoderOptions options;
    options.vocabulary = 7;
    options.visual_width = 512;
    options.embedding = 5;
    options.attention = 6;
    options.hidden = 8;
    add("decoder.", *models::LstmDecoder(options),
        {{"project_cells.", "attention.encoder_att."},
         {"project_state.", "attention.decoder_att."},
         {"score.", "attention.full_att."},
         {"embedding.", "embedding."},
         {"cell.", "decode_step."},
         {"start_hidden.", "init_h."},
         {"start_memory.", "init_c."},
         {"gate.", "f_beta."},
         {"output.", "fc."}});
    models::write_safetensors(in_, {state, {}});
    std::ofstream(words_) << kWords;
  }

  static test::ProgramResult gaze(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), GAZE_PROGRAM);
    return test::run_program(arguments);
  }
  void expect_failure(const std::vector<std::string>& arguments, int status, const std::string& text) {
    const test::ProgramResult result = gaze(arguments);
    EXPECT_EQ(result.status, status);
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(out_));
  }

  test::TemporaryFolder folder_;
  std::string in_ = (folder_.path() / "in.safetensors").string(),
              words_ = (folder_.path() / "WORDMAP.json").string(),
              out_ = (folder_.path() / "out.safetensors").string();
};

// Tensors of CATR's names on a ResNet-18, with random weights: width 32, a layer each.
models::StateDict catr_state(int64_t vocabulary) {
  torch::manual_seed(5);
  models::StateDict state;
  for (const auto& [key, tensor] : models::state_dict(*models::make_backbone("resnet18", 0)))
    state["backbone.0.body." + key] = tensor;
  const auto linear = [&](const std::string& name, int64_t out, std::vector<int64_t> in) {
    in.insert(in.begin(), out);
    state[name + "weight"] = 0.1 * torch::randn(in);
    state[name + "bias"] = torch::zeros({out});
  };
  const auto norm = [&](const std::string& name) {
    state[name + "weight"] = torch::ones({32});
    state[name + "bias"] = torch::zeros({32});
  };
  linear("input_proj.", 32, {512, 1, 1});
  for (const std::string side : {"encoder", "decoder"}) {
    const std::string layer = "transformer." + side + ".layers.0.";
    for (const std::string attention : {"self_attn.", "multihead_attn."}) {
      if (side == "encoder" && attention == "multihead_attn.") continue;
      state[layer + attention + "in_proj_weight"] = 0.2 * torch::randn({96, 32});
      state[layer + attention + "in_proj_bias"] = torch::zeros({96});
      linear(layer + attention + "out_proj.", 32, {32});
    }
    linear(layer + "linear1.", 48, {32});
    linear(layer + "linear2.", 32, {48});
    norm(layer + "norm1.");
    norm(layer + "norm2.");
    if (side == "decoder") norm(layer + "norm3.");
    norm("transformer." + side + ".norm.");
  }
  state["transformer.embeddings.word_embeddings.weight"] = torch::randn({vocabulary, 32});
  state["transformer.embeddings.position_embeddings.weight"] = torch::randn({9, 32});
  norm("transformer.embeddings.LayerNorm.");
  linear("mlp.layers.0.", 40, {32});
  linear("mlp.layers.1.", 40, {40});
  linear("mlp.layers.2.", vocabulary, {40});
  return state;
}

TEST_F(ConvertCaptioner, catr_becomes_one_file_that_captions) {
  models::write_safetensors(in_, {catr_state(7), {}});
  std::ofstream(words_) << "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nred\n##dish\n";
  expect_failure({"convert", in_, out_, "--word-map", words_}, 2,
                 in_ + " holds CATR: give its words with --vocab vocab.txt");
  const test::ProgramResult converted = gaze({"convert", in_, out_, "--vocab", words_});
  ASSERT_EQ(converted.status, 0) << converted.err;
  EXPECT_THAT(converted.out, HasSubstr("recognised: CATR, resnet18 with 7 words\nwritten: " + out_));
  const json description = models::read_model_file(out_).description;
  EXPECT_EQ(description["decoder"]["kind"], "transformer");
  EXPECT_EQ(description["decoder"]["encoder_layers"], 1);
  EXPECT_EQ(description["decoder"]["feed_forward"], 48);
  EXPECT_EQ(description["decoder"]["max_tokens"], 9);
  EXPECT_EQ(description["tokenizer"]["kind"], "wordpiece");
  EXPECT_EQ(description["preprocessing"]["mode"], "fit");

  const test::ProgramResult said =
      gaze({"caption", GAZE_SOURCE_DIR "/tests/photos/penguin.jpg", "--model", out_, "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  for (const json& word : json::parse(said.out)["captions"][0]["words"])
    EXPECT_LE(word["map"]["rows"].get<int64_t>(), 10);

  std::ofstream(words_) << "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n";
  std::filesystem::remove(out_);
  expect_failure({"convert", in_, out_, "--vocab", words_}, 1,
                 words_ + ": has 5 words, the checkpoint " + in_ + " has 7");
  expect_failure({"convert", in_, out_, "--vocab", words_, "--word-map", words_}, 2, "--vocab");
}

TEST_F(ConvertCaptioner, becomes_one_file_that_captions) {
  const test::ProgramResult converted = gaze({"convert", in_, out_, "--word-map", words_});
  ASSERT_EQ(converted.status, 0) << converted.err;
  EXPECT_THAT(
      converted.out,
      HasSubstr("recognised: sgrvinod's Show, Attend and Tell, resnet18 with 7 words\nwritten: " + out_));
  const json description = models::read_model_file(out_).description;
  EXPECT_EQ(description["task"], "caption");
  EXPECT_EQ(description["backbone"],
            json({{"name", "resnet18"}, {"stride", 32}, {"options", {{"classes", 0}}}}));
  EXPECT_EQ(description["decoder"]["kind"], "lstm");
  EXPECT_EQ(description["decoder"]["tanh_scores"], false);
  EXPECT_EQ(description["tokenizer"]["data"][5], "<start>");
  EXPECT_EQ(description["preprocessing"]["mode"], "squash");
  EXPECT_EQ(description["preprocessing"]["size"], json({256, 256}));

  const test::ProgramResult said =
      gaze({"caption", GAZE_SOURCE_DIR "/tests/photos/penguin.jpg", "--model", out_, "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  const json caption = json::parse(said.out)["captions"][0];
  for (const json& token : caption["tokens"]) EXPECT_THAT(token.get<int64_t>(), ::testing::AnyOf(1, 2, 3, 6));
  for (const json& word : caption["words"]) {
    EXPECT_EQ(word["map"]["rows"], 14);
    EXPECT_EQ(word["map"]["cols"], 14);
  }
}

TEST_F(ConvertCaptioner, words_that_do_not_fit_are_told) {
  expect_failure(
      {"convert", in_, out_}, 2,
      in_ + " holds sgrvinod's Show, Attend and Tell: give its words with --word-map WORDMAP.json");
  expect_failure(
      {"convert", in_, out_, "--word-map", words_, "--to", "timm"}, 1,
      "holds a captioner, sgrvinod's Show, Attend and Tell, for which timm has no names; convert it "
      "--to gaze");
  std::ofstream(words_) << R"({"a": 1, "<unk>": 2, "<start>": 3, "<end>": 4, "<pad>": 0})";
  expect_failure({"convert", in_, out_, "--word-map", words_}, 1,
                 words_ + ": has 5 words, the checkpoint " + in_ +
                     " has 7; give the file that was written with "
                     "the checkpoint");
  expect_failure({"convert", in_, out_, "--word-map", out_}, 1, "out.safetensors: ");
}

TEST_F(ConvertCaptioner, a_network_has_no_words) {
  models::write_safetensors(in_, {models::state_dict(*models::make_backbone("resnet18")), {}});
  expect_failure({"convert", in_, out_, "--word-map", words_}, 2,
                 "--word-map and --vocab: IN holds no captioner, so that it has no words");
}

TEST_F(ConvertCaptioner, the_words_are_not_overwritten) {
  const test::ProgramResult result = gaze({"convert", in_, words_, "--word-map", words_});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("OUT is the same file as the words"));
  std::ifstream file(words_);
  std::string kept;
  std::getline(file, kept);
  EXPECT_EQ(kept, kWords);
}

}  // namespace
}  // namespace gaze
