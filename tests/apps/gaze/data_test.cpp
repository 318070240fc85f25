// gaze data scenes as a person runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/data/scene_files.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class DataProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(models::stamps_folder()))
      GTEST_SKIP() << "tuxpaint-stamps-default is not installed";
  }

  test::ProgramResult scenes(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {GAZE_PROGRAM, "data", "scenes", "--out", out()});
    return test::run_program(arguments);
  }
  std::string out() const { return (folder_.path() / "new" / "scenes").string(); }

  test::TemporaryFolder folder_;
};

TEST_F(DataProgram, WritesTheScenesOfItsSeed) {
  const test::ProgramResult result = scenes({"--count", "5", "--seed", "9", "--split", "train", "--size",
                                             "96", "--objects", "2", "--format", "png"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, out() + ": 5 scenes\n");
  models::SceneOptions options;
  options.seed = 9;
  options.size = 96;
  options.min_objects = options.max_objects = 2;
  const models::SceneComposer composer(options);
  const models::SceneFolder folder(out());
  ASSERT_EQ(folder.size(), 5);
  for (int64_t i = 0; i < 5; ++i) {
    const models::Scene expected = composer.compose(static_cast<uint64_t>(i)), scene = folder.read(i);
    EXPECT_EQ(scene.captions, expected.captions);
    EXPECT_EQ(scene.image.rgb, expected.image.rgb);
    EXPECT_EQ(scene.objects.size(), 2U);
  }
}

TEST_F(DataProgram, PrintsJsonWhenAsked) {
  const test::ProgramResult result = scenes({"--count", "2", "--size", "64", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out), nlohmann::json({{"folder", out()}, {"scenes", 2}}));
}

TEST_F(DataProgram, TellsWrongUseFromFailure) {
  EXPECT_EQ(scenes({}).status, 2);
  EXPECT_EQ(scenes({"--count", "0"}).status, 2);
  const test::ProgramResult objects = scenes({"--count", "2", "--objects", "0-4"});
  EXPECT_EQ(objects.status, 2);
  EXPECT_THAT(objects.err, HasSubstr("--objects 0-4: expected a number or a range from 1 to 3"));
  const test::ProgramResult missing = scenes({"--count", "2", "--packages", "/nowhere"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("install the package tuxpaint-stamps-default"));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(DataProgram, RefusesAFinishedFolder) {
  ASSERT_EQ(scenes({"--count", "2", "--size", "64"}).status, 0);
  const test::ProgramResult again = scenes({"--count", "2", "--size", "64"});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("finished scenes are already here"));
}

TEST_F(DataProgram, WritesAFolderAClass) {
  const auto classes = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {GAZE_PROGRAM, "data", "classes", "--out", out(), "--size", "64"});
    return test::run_program(arguments);
  };
  const test::ProgramResult result =
      classes({"--nouns", "apple,penguin", "--count", "3", "--val-share", "0.3"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, out() + ": 2 classes of 3 pictures\n");
  for (const char* file : {"train/apple/001.jpg", "train/penguin/002.jpg", "val/apple/001.jpg"})
    EXPECT_TRUE(fs::exists(fs::path(out()) / file)) << file;
  const test::ProgramResult again = classes({"--count", "4", "--json"});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("is already there; choose another folder"));
  EXPECT_EQ(classes({"--nouns", "apple,fish", "--classes", "2"}).status, 2);
  EXPECT_EQ(classes({"--count", "1"}).status, 2);
}

}  // namespace
}  // namespace gaze
