// gaze train distill, run as a program on tiny crops with random weights in place of ImageNet's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "models/backbone/backbone.h"
#include "models/checkpoint/model_file.h"
#include "models/checkpoint/safetensors.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
using test::Program;
using test::run_program;

class TrainDistill : public ::testing::Test {
 protected:
  TrainDistill() {
    std::ofstream(recipe()) << R"({"backbone": "efficientnet_lite0", "slots": "blocks.15.attn", "pool": 8,
      "pool-size": 64, "phase": ["4x2@32", "4x2@64"], "val-scenes": 4, "val-every": 2, "warmup": 2})";
  }

  void write_teacher(int64_t classes) const {
    torch::manual_seed(1);
    models::write_safetensors(
        weights(), {models::state_dict(*models::make_backbone("efficientnet_lite0", classes)), {}});
  }

  fs::path recipe() const { return folder_.path() / "recipe.json"; }
  fs::path weights() const { return folder_.path() / "lite0.safetensors"; }
  fs::path out(const std::string& name) const { return folder_.path() / name; }

  std::vector<std::string> command(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {
        GAZE_PROGRAM,       "train", "distill", "--recipe",  recipe(), "--weights",
        weights().string(), "--out", out(name), "--threads", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  test::TemporaryFolder folder_;
};

TEST_F(TrainDistill, killed_and_resumed_ends_with_the_same_bits) {
  write_teacher(4);
  const std::vector<std::string> often = {"--save-seconds", "0", "--json"};
  const test::ProgramResult straight = run_program(command("straight", often));
  ASSERT_EQ(straight.status, 0) << straight.err;

  // Killed once in each phase.
  const fs::path state = out("killed") / "state.safetensors";
  for (const int64_t step : {2, 5}) {
    Program program(command("killed", often));
    const auto reached = [&] {
      if (!fs::exists(state)) return false;
      const std::string progress = models::read_safetensors(state).metadata.at("progress");
      return nlohmann::json::parse(progress).at("step") >= step;
    };
    for (int i = 0; i < 3000 && !reached() && program.running(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(program.running()) << program.wait().err;
    program.kill();
    EXPECT_EQ(program.wait().status, 128 + SIGKILL);
  }
  const test::ProgramResult resumed = run_program(command("killed", often));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  for (const char* file : {"model.safetensors", "state.safetensors"}) {
    const models::StateDict expected = models::read_safetensors(out("straight") / file).tensors;
    const models::StateDict got = models::read_safetensors(out("killed") / file).tensors;
    ASSERT_EQ(expected.size(), got.size());
    for (const auto& [name, tensor] : expected)
      EXPECT_TRUE(torch::equal(tensor, got.at(name))) << file << " " << name;
  }
  EXPECT_EQ(nlohmann::json::parse(straight.out).at("val_loss"),
            nlohmann::json::parse(resumed.out).at("val_loss"));

  const test::ProgramResult other = run_program(command("killed", {"--lr", "0.5"}));
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("another recipe"));
}

TEST_F(TrainDistill, writes_a_resnet_that_classifies_and_that_captions_are_trained_on) {
  write_teacher(1000);
  const test::ProgramResult trained =
      run_program(command("resnet", {"--backbone", "resnet18", "--slots", "layer[1-4].*.attn", "--phase",
                                     "1x2@64", "--val-every", "1", "--json", "--licence", "Apache-2.0"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("layer[1-4].*.attn=cbam: 8 blocks inserted"));
  const nlohmann::json result = nlohmann::json::parse(trained.out);
  const std::string file = result.at("model");
  const nlohmann::json description = models::read_model_file(file).description;
  EXPECT_EQ(description.at("task"), "classify");
  EXPECT_EQ(description.at("backbone").at("name"), "resnet18");
  EXPECT_EQ(description.at("slots").size(), 8U);
  EXPECT_EQ(description.at("labels").size(), 1000U);
  EXPECT_EQ(description.at("preprocessing").at("size"), nlohmann::json({64, 64}));
  EXPECT_EQ(description.at("provenance").at("licence"), "Apache-2.0");
  EXPECT_EQ(description.at("provenance").at("recipe").at("teacher"), "efficientnet_lite0");
  EXPECT_EQ(description.at("provenance").at("scores").at("val_loss"), result.at("val_loss"));

  EXPECT_EQ(run_program({GAZE_PROGRAM, "inspect", file}).status, 0);
  const test::ProgramResult caption = run_program({GAZE_PROGRAM,
                                                   "train",
                                                   "caption",
                                                   "--backbone",
                                                   "resnet18",
                                                   "--weights",
                                                   file,
                                                   "--out",
                                                   out("caption"),
                                                   "--threads",
                                                   "1",
                                                   "--size",
                                                   "64",
                                                   "--scenes",
                                                   "8",
                                                   "--val-scenes",
                                                   "2",
                                                   "--batch",
                                                   "4",
                                                   "--epochs",
                                                   "1",
                                                   "--noun-steps",
                                                   "2",
                                                   "--noun-batch",
                                                   "8",
                                                   "--width",
                                                   "16",
                                                   "--heads",
                                                   "2",
                                                   "--layers",
                                                   "1",
                                                   "--feed-forward",
                                                   "16",
                                                   "--slot-epochs",
                                                   "1",
                                                   "--slot-scenes",
                                                   "4",
                                                   "--slot-batch",
                                                   "4"});
  ASSERT_EQ(caption.status, 0) << caption.err;
  // The blocks are those that were distilled, not a second set behind them.
  EXPECT_EQ(models::read_model_file(out("caption") / "model.safetensors").description.at("slots"),
            description.at("slots"));
  const test::ProgramResult wrong = run_program(
      {GAZE_PROGRAM, "train", "caption", "--backbone", "resnet34", "--weights", file, "--out", out("wrong")});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, HasSubstr("is a model of resnet18, not of resnet34"));
}

TEST_F(TrainDistill, tells_wrong_use_from_failure) {
  const auto fails = [&](const std::vector<std::string>& words, int status, const std::string& with) {
    const test::ProgramResult result = run_program(words);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_THAT(result.err, HasSubstr(with));
  };
  fails({GAZE_PROGRAM, "train", "distill", "--out", out("run")}, 2, "--weights: give the teacher's weights");
  fails(command("run"), 1, "lite0.safetensors");  // no such file
  write_teacher(4);
  fails(command("run", {"--phase", "4x2"}), 1, "expected phase STEPSxBATCH@SIZE");
  fails(command("run", {"--val-every", "3"}), 1, "a divisor of the 8 steps of all phases");
  fails(command("run", {"--slots", "layer4.*.attn"}), 1, "layer4.*.attn");
  std::ofstream(recipe()) << R"({"phases": ["4x2@32"]})";
  fails(command("run"), 1, "unknown key \"phases\"; did you mean \"phase\"?");
  EXPECT_FALSE(fs::exists(out("run")));
}

}  // namespace
}  // namespace gaze
