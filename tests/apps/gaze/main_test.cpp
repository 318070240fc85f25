// gaze itself: version, help, and wrong command lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/run_program.h"

namespace gaze {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(Gaze, VersionNamesItsPartsAndTheCpu) {
  const test::ProgramResult result = test::run_program({GAZE_PROGRAM, "--version"});
  EXPECT_EQ(result.status, 0);
  for (const char* part :
       {"gaze [0-9]", "LibTorch [0-9]", "OpenCV [0-9]", "fmt [0-9]", "CPU [A-Z]", "[0-9] threads", "GPU "}) {
    EXPECT_THAT(result.out, ContainsRegex(part));
  }
}

TEST(Gaze, WrongCommandLinesEndWithTwo) {
  const std::vector<std::vector<std::string>> wrong = {{},          {"captoin"},
                                                       {"caption"}, {"caption", "--no-such-flag"},
                                                       {"train"},   {"eval", "scenes", "--count", "0"}};
  for (std::vector<std::string> command : wrong) {
    command.insert(command.begin(), GAZE_PROGRAM);
    const test::ProgramResult result = test::run_program(command);
    EXPECT_EQ(result.status, 2) << (command.size() > 1 ? command[1] : "nothing");
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err, "");
  }
}

TEST(Gaze, AnUnknownCommandIsNamed) {
  const test::ProgramResult result = test::run_program({GAZE_PROGRAM, "captoin", "x.jpg"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err,
            "gaze: [gaze] unknown command \"captoin\"; did you mean \"caption\"? known: caption, overlay, "
            "classify, "
            "inspect, modules, convert, insert, data, train, eval, translate\n");
}

TEST(Gaze, AFullDiskBehindStandardOutputIsAFailure) {
  const std::string program = GAZE_PROGRAM,
                    caption = GAZE_SOURCE_DIR "/weights/lite0-cbam-caption.safetensors";
  for (const std::string& command : {std::string("modules"), "inspect " + caption}) {
    const test::ProgramResult result =
        test::run_program({"sh", "-c", program + " " + command + " >/dev/full"});
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_EQ(result.err, "gaze: standard output cannot be written to; is the disk full?\n") << command;
  }
}

TEST(Gaze, EveryHelpOpensWithAnExample) {
  const std::vector<std::vector<std::string>> commands = {
      {"caption"},        {"overlay"},          {"classify"},       {"inspect"},
      {"data", "scenes"}, {"train", "caption"}, {"eval", "scenes"}, {"eval", "photographs"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.begin(), GAZE_PROGRAM);
    command.emplace_back("--help");
    const test::ProgramResult result = test::run_program(command);
    EXPECT_EQ(result.status, 0);
    EXPECT_THAT(result.out, HasSubstr("Example")) << command[1];
    EXPECT_THAT(result.out, HasSubstr("  gaze " + command[1]));
  }
}

TEST(Gaze, CudaIsRefused) {
  const test::ProgramResult result =
      test::run_program({GAZE_PROGRAM, "caption", "x.jpg", "--device", "cuda"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err,
              HasSubstr("--device cuda: this program computes on the cpu; the CUDA ops of the preset "
                        "cuda-release are for programs of your own so far"));
}

}  // namespace
}  // namespace gaze
