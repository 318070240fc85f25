// gaze train translate and gaze translate, run as programs on a language of four words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

namespace fs = std::filesystem;
using test::ProgramResult;
using test::run_program;
using ::testing::HasSubstr;

// Every text of one to three words; a word is translated by one character.
const std::vector<std::pair<std::string, std::string>> kWords{
    {"cats", "猫"}, {"dogs", "狗"}, {"fish", "鱼"}, {"birds", "鸟"}};

class TranslateProgram : public ::testing::Test {
 protected:
  TranslateProgram() {
    std::ofstream pairs(folder_.path() / "pairs.tsv");
    std::vector<std::pair<std::string, std::string>> all{{"", ""}};
    for (size_t at = 0; at < all.size(); ++at) {
      if (at > 0) pairs << all[at].first << '\t' << all[at].second << '\n';
      if (at > 20) continue;  // the last of two words
      for (const auto& [word, character] : kWords)
        all.emplace_back(all[at].first + (at > 0 ? " " : "") + word, all[at].second + character);
    }
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::vector<std::string> training(const std::string& out, const std::vector<std::string>& more = {},
                                    int64_t epochs = 60) const {
    std::vector<std::string> command{GAZE_PROGRAM,
                                     "train",
                                     "translate",
                                     "--data",
                                     path("pairs.tsv"),
                                     "--out",
                                     path(out),
                                     "--source-tokens",
                                     "word_punctuation",
                                     "--batch",
                                     "16",
                                     "--epochs",
                                     std::to_string(epochs),
                                     "--width",
                                     "32",
                                     "--embedding",
                                     "16",
                                     "--val-share",
                                     "0.1",
                                     "--warmup",
                                     "10",
                                     "--lr",
                                     "0.01",
                                     "--threads",
                                     "1"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  // The command with another value of an option that it has.
  static std::vector<std::string> with(std::vector<std::string> command, const std::string& option,
                                       const std::string& value) {
    *(std::find(command.begin(), command.end(), option) + 1) = value;
    return command;
  }

  static std::string text(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  test::TemporaryFolder folder_;
};

TEST_F(TranslateProgram, learns_translates_and_draws) {
  const ProgramResult trained = run_program(training("run", {"--json"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto result = nlohmann::json::parse(trained.out);
  EXPECT_EQ(result["val_exact"], 1.0) << trained.err;
  const std::string model = path("run/model.safetensors");

  const ProgramResult said = run_program({GAZE_PROGRAM, "translate", "--model", model, "--align",
                                          path("align"), "dogs fish cats", "birds fish"});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(said.out, "狗鱼猫\n鸟鱼\n");
  EXPECT_THAT(text(path("align/0001.svg")), HasSubstr(">狗</text>"));
  EXPECT_TRUE(fs::exists(path("align/0002.svg")));

  // Lines of stdin, an empty one among them; each token looks at the word it translates.
  const ProgramResult piped =
      run_program({"sh", "-c",
                   "printf 'fish birds\\n\\ncats dogs\\r\\n' | " + std::string(GAZE_PROGRAM) +
                       " translate --json --beam 1 --model " + model});
  ASSERT_EQ(piped.status, 0) << piped.err;
  std::vector<nlohmann::json> lines;
  std::istringstream stream(piped.out);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["target"], "鱼鸟");
  EXPECT_EQ(lines[1]["target"], "");
  EXPECT_EQ(lines[2]["target"], "猫狗");
  for (size_t t = 0; t < 2; ++t) EXPECT_GT(lines[0]["tokens"][t]["weights"][t].get<double>(), 0.5);

  // A byte order mark is no text; what is not UTF-8 is told with its line, and the rest goes on.
  const ProgramResult damaged =
      run_program({"sh", "-c",
                   "printf '\\357\\273\\277fish birds\\ncats \\377 dogs\\nfish\\n' | " +
                       std::string(GAZE_PROGRAM) + " translate --json --model " + model});
  EXPECT_EQ(damaged.status, 3);
  EXPECT_EQ(damaged.err, "gaze: line 2: byte 6 is not UTF-8; read as U+FFFD\n");
  EXPECT_EQ(std::count(damaged.out.begin(), damaged.out.end(), '\n'), 3);
  EXPECT_EQ(nlohmann::json::parse(damaged.out.substr(0, damaged.out.find('\n')))["target"], "鱼鸟");

  const ProgramResult full = run_program(
      {"sh", "-c", std::string(GAZE_PROGRAM) + " translate cats --model " + model + " >/dev/full"});
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.err, HasSubstr("is the disk full?"));

  const ProgramResult inspected = run_program({GAZE_PROGRAM, "inspect", model});
  EXPECT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_THAT(inspected.out, HasSubstr("task          translate\n"));
}

TEST_F(TranslateProgram, killed_and_resumed_ends_with_the_same_bits) {
  const std::vector<std::string> save{"--save-seconds", "0"};
  ASSERT_EQ(run_program(training("straight", save)).status, 0);
  test::Program killed(training("killed", save));
  const auto lines = [&] {
    const std::string log = text(path("killed/log.csv"));
    return std::count(log.begin(), log.end(), '\n');
  };
  while (killed.running() && lines() < 8) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  killed.kill();
  ASSERT_NE(killed.wait().status, 0) << "it had ended before it was killed";
  const ProgramResult resumed = run_program(training("killed", save));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(text(path("killed/model.safetensors")), text(path("straight/model.safetensors")));
}

TEST_F(TranslateProgram, bad_lines_are_told_and_the_rest_is_learned) {
  {
    std::ofstream pairs(path("pairs.tsv"), std::ios::app);
    pairs << "one column\n\n\xff\xfe\tx\n" << std::string(60000, 'a') << "\tb\nhens\t鸡\n";
  }
  const ProgramResult trained = run_program(training("run", {}, 1));
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("pairs.tsv: 4 of 89 lines were skipped"));
  EXPECT_THAT(trained.err, HasSubstr("no tab"));
}

TEST_F(TranslateProgram, mistakes_end_with_a_message) {
  const ProgramResult no_data = run_program({GAZE_PROGRAM, "train", "translate", "--out", path("x")});
  EXPECT_EQ(no_data.status, 2);
  EXPECT_THAT(no_data.err, HasSubstr("--data: give a file of pairs"));
  const ProgramResult no_file =
      run_program({GAZE_PROGRAM, "train", "translate", "--data", path("none.tsv"), "--out", path("x")});
  EXPECT_EQ(no_file.status, 1);
  EXPECT_THAT(no_file.err, HasSubstr("none.tsv"));
  const ProgramResult caption_model = run_program(
      {GAZE_PROGRAM, "translate", "--model", GAZE_SOURCE_DIR "/weights/lite0-cbam-caption.safetensors", "x"});
  EXPECT_EQ(caption_model.status, 1);
  EXPECT_THAT(caption_model.err, HasSubstr("this model cannot translate"));
  const ProgramResult divided = run_program(training("run", {"--encoder", "transformer", "--heads", "5"}));
  EXPECT_EQ(divided.status, 1);
  EXPECT_THAT(divided.err, HasSubstr("expected heads that divide width 32; got heads 5"));
  const ProgramResult diverged = run_program(with(training("diverged"), "--lr", "1e30"));
  EXPECT_EQ(diverged.status, 1);
  EXPECT_THAT(diverged.err,
              HasSubstr("[train] expected a finite loss; a lower learning rate may help; got "));
  EXPECT_FALSE(fs::exists(path("diverged/model.safetensors")));
  const ProgramResult few = run_program(with(training("few"), "--batch", "1000"));
  EXPECT_EQ(few.status, 1);
  EXPECT_THAT(few.err, HasSubstr("at least batch = 1000 pairs to train on (a smaller --batch would do)"));
  ASSERT_EQ(run_program(training("bare", {"--no-attention"}, 1)).status, 0);
  const ProgramResult no_alignment =
      run_program({GAZE_PROGRAM, "translate", "--model", path("bare/model.safetensors"), "--align",
                   path("align"), "cats"});
  EXPECT_EQ(no_alignment.status, 2);
  EXPECT_THAT(no_alignment.err, HasSubstr("this model has no attention"));
}

}  // namespace
}  // namespace gaze
