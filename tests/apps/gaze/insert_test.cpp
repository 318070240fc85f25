// gaze insert as a person runs it, on small networks with random weights.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/backbone/classifier_file.h"
#include "models/backbone/load_backbone.h"
#include "models/checkpoint/safetensors.h"
#include "models/image/image.h"
#include "modules/attention/registry.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_captioner.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class InsertProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    torch::manual_seed(2);
    const auto network = models::make_backbone("resnet18", 4);
    network->eval();
    models::write_safetensors(weights(), {models::state_dict(*network), {}});
    models::Preprocessing preprocessing = models::resnet_preprocessing();
    preprocessing.height = preprocessing.width = 64;
    models::write_model_file(model(), models::classifier_file(*network, preprocessing,
                                                              {"ant", "bee", "cat", "dog"}, {{"seed", 2}}));
  }

  static const fs::path& shared() {
    static const test::TemporaryFolder folder;
    return folder.path();
  }
  static fs::path weights() { return shared() / "weights.safetensors"; }
  static fs::path model() { return shared() / "model.safetensors"; }

  static test::ProgramResult gaze(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), GAZE_PROGRAM);
    return test::run_program(arguments);
  }
  test::ProgramResult insert(std::vector<std::string> arguments) const {
    const std::vector<std::string> usual = {"insert", "--model", model(), "--out", out(), "--threads", "1"};
    arguments.insert(arguments.begin(), usual.begin(), usual.end());
    return gaze(arguments);
  }
  static std::string modules() { return fmt::format("{}", fmt::join(block_names(), ", ")); }
  static std::string options_of_se() {
    std::vector<std::string> names;
    const BlockDescription se = describe_blocks().at(0);
    for (const OptionDescription& option : se.options) names.push_back(option.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }
  std::string out() const { return folder_.path() / "out.safetensors"; }

  test::TemporaryFolder folder_;
};

TEST_F(InsertProgram, keeps_every_answer_and_writes_a_model_that_classifies) {
  const test::ProgramResult result = insert({"--at", "layer4.*.attn", "--module", "se+cbam(kernel=3)"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("slot             module"));
  EXPECT_THAT(result.out, HasSubstr("layer4.0.attn.0  se(reduction=16, init=identity)"));
  EXPECT_THAT(result.out,
              HasSubstr(" for a picture of 64x64\noutput on a fixed input: bit for bit what it was\n" +
                        out() + " written\n"));

  models::Image picture{80, 70, {}, 1};
  for (int64_t i = 0; i < 80 * 70 * 3; ++i) picture.rgb.push_back(static_cast<uint8_t>(i * i / 700));
  const std::string png = folder_.path() / "a.png";
  models::save_image(picture, png);
  const test::ProgramResult before = gaze({"classify", png, "--model", model(), "--json", "--logits"});
  const test::ProgramResult after = gaze({"classify", png, "--model", out(), "--json", "--logits"});
  ASSERT_EQ(after.status, 0) << after.err;
  EXPECT_EQ(after.out, before.out);
  EXPECT_THAT(after.out, HasSubstr("\"label\":\"dog\""));

  const json told = json::parse(gaze({"inspect", out(), "--json"}).out)["description"];
  EXPECT_EQ(told["task"], "classify");
  EXPECT_EQ(told["slots"], json({{"layer4.0.attn",
                                  "se(reduction=16, init=identity)+cbam(reduction=16, "
                                  "kernel=3, init=identity)"},
                                 {"layer4.1.attn",
                                  "se(reduction=16, init=identity)+cbam(reduction=16, "
                                  "kernel=3, init=identity)"}}));
  EXPECT_EQ(told["provenance"], json({{"seed", 2}}));
}

TEST_F(InsertProgram, bare_weights_become_a_model_file) {
  const test::ProgramResult result =
      gaze({"insert", "--backbone", "resnet18", "--weights", weights(), "--at", "layer1.-1.{attn,post}",
            "--module", "se(reduction=8)", "--out", out(), "--json", "--threads", "1"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json told = json::parse(result.out);
  ASSERT_EQ(told["inserted"].size(), 2U);
  EXPECT_EQ(told["inserted"][1]["slot"], "layer1.1.post");
  EXPECT_EQ(told["inserted"][1]["cells"], json({56, 56}));
  EXPECT_EQ(told["largest_difference"], 0.0);
  EXPECT_GT(told["largest_output"], 0.0);
  EXPECT_EQ(told["identity"], true);
  EXPECT_EQ(told["file"], out());
  EXPECT_EQ(models::load_backbone(models::read_model_file(out()))->classes(), 4);
}

TEST_F(InsertProgram, measures_what_changes) {
  const test::ProgramResult result =
      insert({"--at", "layer4.1.attn", "--module", "se", "--init", "paper", "--dry-run", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json told = json::parse(result.out);
  EXPECT_EQ(told["identity"], false);
  EXPECT_GT(told["largest_difference"], 0.0);
  EXPECT_TRUE(told["file"].is_null());
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_THAT(insert({"--at", "layer4.1.attn", "--module", "se", "--dry-run"}).out,
              HasSubstr("\nnothing written (--dry-run)\n"));
}

TEST_F(InsertProgram, a_convolution_and_its_weights_go) {
  const test::ProgramResult result = insert({"--at", "layer4.0.conv", "--module", "se"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\ngone layer4.0.conv2.weight [512, 512, 3, 3]\n"));
  EXPECT_THAT(result.out, HasSubstr("\noutput on a fixed input: differs by up to "));
  EXPECT_EQ(models::read_model_file(out()).weights.count("backbone.layer4.0.conv2.weight"), 0U);
  const test::ProgramResult back = gaze({"insert", "--model", out(), "--at", "*", "--remove", "--dry-run"});
  EXPECT_EQ(back.status, 1);
  EXPECT_EQ(
      back.err,
      "gaze: [remove] expected a slot whose layer has weights to go back to; got layer4.0.conv, which was "
      "loaded without conv2\n");
}

TEST_F(InsertProgram, remove_gives_the_old_file_back) {
  ASSERT_EQ(insert({"--at", "*.attn", "--module", "cbam"}).status, 0);
  const fs::path again = folder_.path() / "again.safetensors";
  const test::ProgramResult result =
      gaze({"insert", "--model", out(), "--at", "*", "--remove", "--out", again, "--threads", "1"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("removed layer1.0.attn cbam(reduction=16, kernel=7, init=identity)"));
  const models::ModelFile old = models::read_model_file(model()), now = models::read_model_file(again);
  EXPECT_EQ(now.description, old.description);
  ASSERT_EQ(now.weights.size(), old.weights.size());
  for (const auto& [name, weight] : old.weights)
    EXPECT_TRUE(torch::equal(weight, now.weights.at(name))) << name;
}

TEST_F(InsertProgram, a_caption_model_stays_one_with_its_half_weights) {
  const fs::path captioner = folder_.path() / "captioner.safetensors";
  test::TinyCaptioner tiny;
  tiny.module = "se";
  const models::ModelFile old = test::tiny_caption_model(tiny);
  models::write_model_file(captioner, old);
  const test::ProgramResult result = gaze({"insert", "--model", captioner, "--at", "layer4.1.attn",
                                           "--module", "se", "--replace", "--init", "paper", "--out", out()});
  ASSERT_EQ(result.status, 0) << result.err;
  const models::ModelFile now = models::read_model_file(out());
  EXPECT_EQ(now.description["task"], "caption");
  EXPECT_EQ(now.description["tokenizer"], old.description["tokenizer"]);
  EXPECT_EQ(now.weights.at("backbone.layer1.0.conv1.weight").scalar_type(), torch::kHalf);
  EXPECT_EQ(now.weights.size(), old.weights.size());
  const char* const replaced = "backbone.layer4.1.attn.0.fc1.weight";
  EXPECT_EQ(now.weights.at(replaced).scalar_type(), torch::kFloat);
  EXPECT_FALSE(torch::allclose(now.weights.at(replaced), old.weights.at(replaced).to(torch::kFloat)))
      << "the new block has its own weights";
}

TEST_F(InsertProgram, mistakes_are_one_line) {
  const auto expect = [&](const std::vector<std::string>& arguments, const std::string& text) {
    const test::ProgramResult result = insert(arguments);
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "gaze: " + text + "\n");
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(out()));
  };
  expect({"--at", "layer4.0.atn", "--module", "se"},
         "[insert] no slot of resnet18 matches \"layer4.0.atn\"; nearest of its 51: layer4.0.attn, "
         "layer1.0.attn, layer2.0.attn");
  expect({"--at", "layer[4.*", "--module", "se"},
         "[insert] expected a pattern such as \"layer[34].*.attn\"; got \"layer[4.*\": [ without ]");
  expect({"--at", "*.attn", "--module", "cbm"},
         "[spec] unknown module \"cbm\"; did you mean \"cbam\"? known: " + modules());
  expect({"--at", "*.attn", "--module", "se(reductoin=8)"},
         "[se] unknown option \"reductoin\"; did you mean \"reduction\"? known: " + options_of_se());
  expect({"--at", "*.attn", "--module", "cbam(kernel=4)"}, "[cbam] expected kernel odd, >= 1; got kernel 4");
}

TEST_F(InsertProgram, wrong_command_lines_are_usage_errors) {
  const auto expect = [&](std::vector<std::string> arguments, const std::string& text) {
    arguments.insert(arguments.begin(), "insert");
    const test::ProgramResult result = gaze(arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  expect({"--at", "*", "--module", "se", "--dry-run"}, "give either --model, or --backbone with --weights");
  expect({"--model", model(), "--at", "*", "--dry-run"}, "give --module with what goes in, or --remove");
  expect({"--model", model(), "--at", "*", "--module", "se"},
         "give --out with the file to write, or --dry-run");
  expect({"--model", model(), "--at", "*", "--module", "se", "--remove", "--dry-run"},
         "--remove empties slots: it goes with neither --module nor --replace");
  expect({"--model", model(), "--at", "*", "--module", "se", "--out", model()},
         "--out is the file that is read; give it another name");
  expect({"--model", model(), "--module", "se"}, "--at is required");
  expect({"--model", model(), "--at", "*", "--module", "se", "--init", "zero", "--out", out()}, "--init");
}

}  // namespace
}  // namespace gaze
