// gaze train caption, run as a program on a tiny recipe with random weights in place of ImageNet's.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
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

namespace fs = std::filesystem;
using test::Program;
using test::run_program;

class TrainCaption : public ::testing::Test {
 protected:
  TrainCaption() {
    torch::manual_seed(1);
    models::write_safetensors(folder_.path() / "lite0.safetensors",
                              {models::state_dict(*models::make_backbone("efficientnet_lite0")), {}});
    std::ofstream(folder_.path() / "recipe.json")
        << R"({"size": 64, "scenes": 48, "val-scenes": 8, "batch": 4, "epochs": 2,
      "width": 32, "heads": 4, "feed-forward": 64, "warmup": 4, "slots": "blocks.15.attn", "slot-epochs": 1, "slot-scenes": 24,
      "slot-batch": 4})";
  }

  std::vector<std::string> command(const std::string& out) const {
    return {GAZE_PROGRAM,
            "train",
            "caption",
            "--recipe",
            (folder_.path() / "recipe.json").string(),
            "--weights",
            (folder_.path() / "lite0.safetensors").string(),
            "--out",
            (folder_.path() / out).string(),
            "--threads",
            "1",
            "--save-seconds",
            "0"};
  }

  int64_t log_lines(const std::string& out) const {
    std::ifstream stream(folder_.path() / out / "log.csv");
    return std::count(std::istreambuf_iterator<char>(stream), {}, '\n');
  }

  test::TemporaryFolder folder_;
};

TEST_F(TrainCaption, killed_and_resumed_ends_with_the_same_bits) {
  const test::ProgramResult straight = run_program(command("straight"));
  ASSERT_EQ(straight.status, 0) << straight.err;

  // Killed once in each stage, in mid-epoch: the state is saved after every step.
  for (const char* stage : {"\"decoder\"", "\"slots\""}) {
    Program program(command("killed"));
    const fs::path state = folder_.path() / "killed" / "state.safetensors";
    const auto reached = [&] {
      if (!fs::exists(state)) return false;
      const std::string progress = models::read_safetensors(state).metadata.at("progress");
      const size_t step = progress.find("\"step\":");
      return progress.find(stage) != std::string::npos && std::stoi(progress.substr(step + 7)) >= 3;
    };
    for (int i = 0; i < 6000 && !reached() && program.running(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(program.running()) << program.wait().err;
    program.kill();
    EXPECT_EQ(program.wait().status, 128 + SIGKILL);
  }
  const test::ProgramResult resumed = run_program(command("killed"));
  ASSERT_EQ(resumed.status, 0) << resumed.err;

  for (const char* file : {"model.safetensors", "state.safetensors"}) {
    const models::StateDict expected = models::read_safetensors(folder_.path() / "straight" / file).tensors;
    const models::StateDict got = models::read_safetensors(folder_.path() / "killed" / file).tensors;
    ASSERT_EQ(expected.size(), got.size());
    for (const auto& [name, tensor] : expected)
      EXPECT_TRUE(torch::equal(tensor, got.at(name))) << file << " " << name;
  }
  EXPECT_FALSE(fs::exists(folder_.path() / "killed" / "evidence.train"));
}

TEST_F(TrainCaption, an_lstm_learns_too) {
  std::vector<std::string> lstm = command("lstm");
  lstm.insert(lstm.end(), {"--decoder", "lstm", "--hidden", "24", "--attention", "16", "--epochs", "1"});
  const test::ProgramResult trained = run_program(lstm);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const fs::path model = folder_.path() / "lstm" / "model.safetensors";
  const nlohmann::json decoder = models::read_model_file(model).description["decoder"];
  EXPECT_EQ(decoder["kind"], "lstm");
  EXPECT_EQ(decoder["hidden"], 24);
  EXPECT_EQ(decoder["embedding"], 32);
  const test::ProgramResult said =
      run_program({GAZE_PROGRAM, "caption", GAZE_SOURCE_DIR "/tests/photos/penguin.jpg", "--model",
                   model.string(), "--json", "--max-words", "5"});
  ASSERT_EQ(said.status, 0) << said.err;
  for (const auto& word : nlohmann::json::parse(said.out)["captions"][0]["words"])
    EXPECT_EQ(word["map"]["cols"], 2);
}

// One step from the same weights by the same draws: the loss grows in proportion to the term's weight.
TEST_F(TrainCaption, an_lstm_is_asked_to_look_at_every_cell) {
  const auto first_loss = [&](const std::string& weight) {
    std::vector<std::string> lstm = command(weight);
    lstm.insert(lstm.end(),
                {"--decoder", "lstm", "--hidden", "24", "--attention", "16", "--epochs", "1", "--scenes", "4",
                 "--noun-steps", "0", "--module", "none", "--doubly-stochastic", weight});
    const test::ProgramResult trained = run_program(lstm);
    EXPECT_EQ(trained.status, 0) << trained.err;
    std::ifstream log(folder_.path() / weight / "log.csv");
    std::string line;
    while (std::getline(log, line) && line.rfind("decoder,1,", 0) != 0) {
    }
    return line.size() > 10 ? std::stod(line.substr(10)) : NAN;
  };
  const double without = first_loss("0"), with = first_loss("1");
  EXPECT_GT(with - without, 0.01);
  EXPECT_NEAR(first_loss("3") - without, 3 * (with - without), 1e-4);
}

TEST_F(TrainCaption, another_recipe_does_not_go_on_from_this_state) {
  ASSERT_EQ(run_program(command("run")).status, 0);
  std::vector<std::string> other = command("run");
  other.insert(other.end(), {"--lr", "0.5"});
  const test::ProgramResult result = run_program(other);
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("another recipe"), std::string::npos) << result.err;
}

TEST_F(TrainCaption, a_pattern_without_a_slot_is_told_at_once) {
  std::vector<std::string> none = command("run");
  none.insert(none.end(), {"--slots", "layer4.*.attn"});
  const test::ProgramResult result = run_program(none);
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("[train] no slot of efficientnet_lite0 matches \"layer4.*.attn\""),
            std::string::npos)
      << result.err;
  EXPECT_FALSE(fs::exists(folder_.path() / "run"));
}

TEST_F(TrainCaption, unknown_recipe_key_is_named) {
  std::ofstream(folder_.path() / "recipe.json") << R"({"epoch": 2})";
  const test::ProgramResult result = run_program(command("run"));
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("unknown key \"epoch\"; did you mean \"epochs\"?"), std::string::npos)
      << result.err;
  EXPECT_FALSE(fs::exists(folder_.path() / "run"));
}

}  // namespace
}  // namespace gaze
