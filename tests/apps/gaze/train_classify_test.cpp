// gaze train classify, run as a program on tiny pictures with random weights in place of ImageNet's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
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
#include "models/image/image.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;
using test::Program;
using test::run_program;

class TrainClassify : public ::testing::Test {
 protected:
  // Three classes by colour, four pictures to train on and two to validate on.
  TrainClassify() {
    torch::manual_seed(1);
    models::write_safetensors(weights(),
                              {models::state_dict(*models::make_backbone("efficientnet_lite0", 4)), {}});
    for (int channel = 0; channel < 3; ++channel) {
      const char* names[] = {"red", "green", "blue"};
      for (int i = 0; i < 6; ++i) {
        picture(fs::path(i < 4 ? "train" : "val") / names[channel] / (std::to_string(i) + ".png"), channel,
                static_cast<uint8_t>(150 + 15 * i));
      }
    }
  }

  void picture(const fs::path& name, int channel, uint8_t value) const {
    models::Image image;
    image.width = 48;
    image.height = 40;
    for (int64_t p = 0; p < image.width * image.height; ++p) {
      for (int c = 0; c < 3; ++c) image.rgb.push_back(c == channel ? value : static_cast<uint8_t>(p % 60));
    }
    fs::create_directories((data() / name).parent_path());
    models::save_image(image, data() / name);
  }

  fs::path data() const { return folder_.path() / "colours"; }
  fs::path weights() const { return folder_.path() / "lite0.safetensors"; }
  fs::path out(const std::string& name) const { return folder_.path() / name; }

  std::vector<std::string> command(const std::string& name, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {GAZE_PROGRAM, "train", "classify", "--out", out(name).string()};
    const std::pair<std::string, std::string> usual[] = {
        {"--data", data().string()}, {"--threads", "1"},     {"--batch", "4"}, {"--size", "64"},
        {"--epochs", "1"},           {"--block-epochs", "1"}};
    for (const auto& [flag, value] : usual) {
      if (std::find(more.begin(), more.end(), flag) == more.end()) words.insert(words.end(), {flag, value});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> from_weights(const std::string& name, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--backbone", "efficientnet_lite0", "--weights", weights().string()});
    return command(name, more);
  }

  static std::string text(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  test::TemporaryFolder folder_;
};

TEST_F(TrainClassify, killed_and_resumed_ends_with_the_same_bits) {
  const std::vector<std::string> settings = {
      "--insert", "blocks.15.attn=se", "--block-epochs", "6", "--epochs", "6",
      "--norms",  "trained",           "--save-seconds", "0"};
  const test::ProgramResult straight = run_program(from_weights("straight", settings));
  ASSERT_EQ(straight.status, 0) << straight.err;
  for (const char* stage : {"\"blocks\"", "\"all\""}) {
    Program program(from_weights("killed", settings));
    const fs::path state = out("killed") / "state.safetensors";
    const auto reached = [&] {
      if (!fs::exists(state)) return false;
      const std::string progress = models::read_safetensors(state).metadata.at("progress");
      const size_t step = progress.find("\"step\":");
      return progress.find(stage) != std::string::npos && std::stoi(progress.substr(step + 7)) >= 4;
    };
    for (int i = 0; i < 6000 && !reached() && program.running(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(program.running()) << program.wait().err;
    program.kill();
    EXPECT_EQ(program.wait().status, 128 + SIGKILL);
  }
  const test::ProgramResult resumed = run_program(from_weights("killed", settings));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  for (const char* file : {"model.safetensors", "state.safetensors"}) {
    const models::StateDict expected = models::read_safetensors(out("straight") / file).tensors;
    const models::StateDict got = models::read_safetensors(out("killed") / file).tensors;
    ASSERT_EQ(expected.size(), got.size());
    for (const auto& [name, tensor] : expected)
      EXPECT_TRUE(torch::equal(tensor, got.at(name))) << file << " " << name;
  }
  EXPECT_EQ(text(out("straight") / "confusion.csv"), text(out("killed") / "confusion.csv"));
  EXPECT_EQ(straight.out.substr(0, straight.out.find('\n')), resumed.out.substr(0, resumed.out.find('\n')));
}

TEST_F(TrainClassify, writes_a_model_that_classifies_with_the_folders_names) {
  const test::ProgramResult trained =
      run_program(from_weights("run", {"--insert", "blocks.[10-15].attn=se(reduction=8)", "--insert",
                                       "blocks.15.attn=eca", "--json", "--licence", "CC0-1.0"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  const nlohmann::json result = nlohmann::json::parse(trained.out);
  EXPECT_EQ(result.at("classes"), nlohmann::json({"blue", "green", "red"}));
  EXPECT_EQ(result.at("skipped"), 0);
  int64_t counted = 0, right = 0;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      const int64_t count = result.at("confusion")[i][j];
      counted += count;
      right += i == j ? count : 0;
    }
  }
  EXPECT_EQ(counted, 6);
  EXPECT_DOUBLE_EQ(result.at("val_accuracy"), static_cast<double>(right) / 6);
  EXPECT_THAT(trained.err, HasSubstr("a new head for 3 classes takes the place of one for 4"));
  EXPECT_THAT(trained.err, HasSubstr("blocks.15.attn=eca: 1 blocks inserted"));
  EXPECT_THAT(text(out("run") / "confusion.csv"), HasSubstr("truth \\ said,blue,green,red\nblue,"));
  EXPECT_THAT(text(out("run") / "log.csv"),
              HasSubstr("stage,step,loss,lr,val_loss,val_accuracy,seconds\nblocks,3,"));
  EXPECT_THAT(text(out("run") / "gates.csv"), HasSubstr("\nall,3,blocks.15.attn.1/channel,"));

  const models::ModelFile model = models::read_model_file(out("run") / "model.safetensors");
  EXPECT_EQ(model.description.at("task"), "classify");
  EXPECT_EQ(model.description.at("labels"), result.at("classes"));
  EXPECT_EQ(model.description.at("preprocessing").at("size"), nlohmann::json({64, 64}));
  const nlohmann::json& provenance = model.description.at("provenance");
  EXPECT_EQ(provenance.at("licence"), "CC0-1.0");
  EXPECT_EQ(provenance.at("data"), "colours: 12 pictures to train on, 6 to validate on, 3 classes");
  EXPECT_EQ(provenance.at("scores").at("val_accuracy"), result.at("val_accuracy"));
  EXPECT_EQ(provenance.at("recipe").at("insert").size(), 2U);

  // gaze classify says what validation said.
  const test::ProgramResult said = run_program({GAZE_PROGRAM, "classify", (data() / "val").string(),
                                                "--model", result.at("model").get<std::string>(), "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  std::istringstream lines(said.out);
  int64_t agree = 0;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json picture = nlohmann::json::parse(line);
    const std::string truth =
        fs::path(picture.at("image").get<std::string>()).parent_path().filename().string();
    agree += picture.at("top")[0].at("label") == truth ? 1 : 0;
  }
  EXPECT_EQ(agree, right);

  // Trained on from its own model it keeps its head, and its licence.
  const test::ProgramResult on =
      run_program(command("on", {"--model", result.at("model").get<std::string>(), "--optimizer", "sgd"}));
  ASSERT_EQ(on.status, 0) << on.err;
  EXPECT_THAT(on.err, Not(HasSubstr("a new head")));
  const models::ModelFile second = models::read_model_file(out("on") / "model.safetensors");
  EXPECT_EQ(second.description.at("provenance").at("licence"), "CC0-1.0");
  EXPECT_EQ(second.description.at("slots"), model.description.at("slots"));
}

TEST_F(TrainClassify, first_stage_changes_new_blocks_and_head_alone) {
  ASSERT_EQ(run_program(from_weights("run", {"--insert", "blocks.15.attn=se", "--epochs", "0"})).status, 0);
  const models::StateDict before = models::read_safetensors(weights()).tensors;
  const models::StateDict after =
      models::with_prefix(models::read_model_file(out("run") / "model.safetensors").weights, "backbone.");
  for (const auto& [name, tensor] : before) {
    if (name.rfind("_fc.", 0) == 0 || !tensor.is_floating_point()) continue;
    EXPECT_TRUE(torch::equal(tensor, after.at(name))) << name;
  }
  EXPECT_NE(after.at("_blocks.15.attn.0.mix").item<float>(), 0);

  ASSERT_EQ(run_program(from_weights("all", {"--insert", "blocks.15.attn=se"})).status, 0);
  // The best model may be that of the first stage; the state is the last step's.
  const models::StateDict state = models::read_safetensors(out("all") / "state.safetensors").tensors;
  EXPECT_FALSE(torch::equal(before.at("_conv_stem.weight"), state.at("network._conv_stem.weight")));
  EXPECT_TRUE(torch::equal(before.at("_bn0.running_mean"), state.at("network._bn0.running_mean")));
}

TEST_F(TrainClassify, stuck_gates_are_said_aloud) {
  const test::ProgramResult result =
      run_program(from_weights("run", {"--insert", "blocks.15.attn=se", "--lr", "1e-9", "--epochs", "0"}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("a gate is stuck at 1 (95 % of its values or more are within 0.05 of it) and "
                        "lets everything pass unchanged: blocks.15.attn.0/channel"));
}

TEST_F(TrainClassify, unreadable_pictures_are_left_out) {
  std::ofstream(data() / "train" / "red" / "broken.jpg") << "no picture";
  const test::ProgramResult result = run_program(from_weights("run", {"--json", "--epochs", "0"}));
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("train/red/broken.jpg: "));
  EXPECT_THAT(result.err, HasSubstr("1 pictures could not be read and were left out"));
  EXPECT_EQ(nlohmann::json::parse(result.out).at("skipped"), 1);
}

TEST_F(TrainClassify, recipes_may_list_insertions_and_flags_win) {
  const fs::path recipe = folder_.path() / "recipe.json";
  std::ofstream(recipe) << R"({"insert": ["blocks.14.attn=se", "blocks.15.attn=eca"], "epochs": 0, "mixup": 0,
                               "block-epochs": 5, "data": ")"
                        << data().string() << "\"}";
  const test::ProgramResult result = run_program(from_weights("run", {"--recipe", recipe.string()}));
  ASSERT_EQ(result.status, 0) << result.err;
  const nlohmann::json description = models::read_model_file(out("run") / "model.safetensors").description;
  EXPECT_EQ(description.at("slots").size(), 2U);
  EXPECT_EQ(description.at("provenance").at("recipe").at("block-epochs"), 1);
  EXPECT_EQ(description.at("provenance").at("recipe").at("mixup"), 0);
}

TEST_F(TrainClassify, tells_wrong_use_from_failure) {
  const auto fails = [&](const std::vector<std::string>& words, int status, const std::string& with) {
    const test::ProgramResult result = run_program(words);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_THAT(result.err, HasSubstr(with));
  };
  fails({GAZE_PROGRAM, "train", "classify", "--out", out("run").string(), "--backbone", "resnet18",
         "--weights", weights().string()},
        2, "--data: give the folder of the pictures");
  fails(command("run"), 2, "give either --model, or --backbone with --weights");
  fails(from_weights("run", {"--mixup", "7"}), 2, "--mixup");
  fails(from_weights("run", {"--insert", "se"}), 1, "expected insert PATTERN=SPEC");
  fails(from_weights("run", {"--insert", "layer4.*.attn=se"}), 1, "layer4.*.attn");
  fails(from_weights("run", {"--insert", "blocks.15.attn=sse"}), 1, "did you mean \"se\"");
  EXPECT_FALSE(fs::exists(out("run")));
  fs::remove_all(data() / "val");
  fails(from_weights("run"), 1, "holds train but no val");

  fs::rename(data() / "train", folder_.path() / "plain");
  fs::remove_all(data());
  fs::rename(folder_.path() / "plain", data());
  ASSERT_EQ(run_program(from_weights("run", {"--epochs", "0"})).status, 0);
  fails(from_weights("run", {"--epochs", "0", "--lr", "0.5"}), 1, "another recipe");
}

}  // namespace
}  // namespace gaze
