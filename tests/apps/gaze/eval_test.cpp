// gaze eval: the tally by hand-made captions, and the program on a small model with random weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/gaze/scene_tally.h"
#include "models/captioner/captioner.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_captioner.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// A 40 x 40 picture of a gadget on the left and a gizmo on the right, each 10 x 10.
models::Scene pair_scene(bool held_out) {
  models::Scene scene;
  scene.image.width = scene.image.height = 40;
  for (const auto& [noun, x] : {std::pair{"gadget", 5}, {"gizmo", 25}}) {
    models::SceneObject object;
    object.noun = {noun, std::string(noun) + "s", "a"};
    object.mask.assign(1600, 0);
    for (int64_t row = 15; row < 25; ++row) {
      for (int64_t column = x; column < x + 10; ++column)
        object.mask[static_cast<size_t>(row * 40 + column)] = 1;
    }
    scene.objects.push_back(object);
  }
  scene.relations = {{0, "left of", 1}};
  scene.ground = "grass";
  scene.held_out = held_out;
  scene.captions = models::scene_captions(models::facts_of(scene));
  return scene;
}

// A caption whose words look at the given cells of a 4 x 4 map (10 pixels a cell).
models::CaptionedImage captioned(const std::vector<std::pair<std::string, int64_t>>& words) {
  models::CaptionedImage result;
  result.geometry.width = result.geometry.height = result.geometry.input_width =
      result.geometry.input_height = 40;
  result.rows = result.cols = 4;
  models::Caption caption;
  for (const auto& [text, cell] : words) {
    models::CaptionWord word;
    word.text = text;
    word.map = torch::full({4, 4}, 0.02F);
    word.map.view(-1)[cell] = 0.7F;
    caption.words.push_back(word);
    caption.text += (caption.text.empty() ? "" : " ") + text;
  }
  result.captions.push_back(caption);
  return result;
}

// Cell (row 1, col 0) has its centre at (5, 15): on the gadget. Cell (1, 2): (25, 15), on the gizmo. Cell 0:
// (5, 5), on none.
constexpr int64_t kGadget = 4, kGizmo = 6, kNothing = 0;

TEST(SceneTally, SumsByObjectsAndStamps) {
  apps::SceneTally tally;
  EXPECT_TRUE(
      tally
          .add(pair_scene(true),
               captioned(
                   {{"a", 0}, {"gadget", kGadget}, {"left", 0}, {"of", 0}, {"a", 0}, {"gizmo", kNothing}}))
          .relations_right);
  EXPECT_TRUE(tally
                  .add(pair_scene(true),
                       captioned({{"a", 0}, {"gadget", kGadget}, {"above", 0}, {"a", 0}, {"gizmo", kGizmo}}))
                  .nouns_right);
  EXPECT_FALSE(tally.add(pair_scene(true), captioned({{"a", 0}, {"gadget", kGadget}})).nouns_right);
  tally.add(
      pair_scene(false),
      captioned({{"a", 0}, {"gizmo", kGizmo}, {"right", 0}, {"of", 0}, {"a", 0}, {"gadget", kNothing}}));
  const std::vector<json> lines = tally.lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["held_out"], false);
  EXPECT_EQ(lines[0]["n"], 1);
  EXPECT_EQ(lines[0]["relations_right"], 1.0);
  EXPECT_EQ(lines[1]["held_out"], true);
  EXPECT_EQ(lines[1]["objects"], 2);
  EXPECT_EQ(lines[1]["n"], 3);
  EXPECT_DOUBLE_EQ(lines[1]["nouns_right"], 2.0 / 3);
  EXPECT_DOUBLE_EQ(lines[1]["relations_right"], 0.5);
  EXPECT_DOUBLE_EQ(lines[1]["pointing"], 4.0 / 5);  // five nouns named, one map looks elsewhere
  EXPECT_DOUBLE_EQ(lines[1]["pointing_centre"], 0);
  EXPECT_DOUBLE_EQ(lines[1]["named"], 5.0 / 6);
}

TEST(SceneTally, HasNoShareOfNothing) {
  apps::SceneTally tally;
  tally.add(pair_scene(true), captioned({{"a", 0}, {"cat", 0}}));
  const std::vector<json> lines = tally.lines();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0]["relations_right"].is_null());
  EXPECT_TRUE(lines[0]["pointing"].is_null());
  EXPECT_EQ(lines[0]["nouns_right"], 0.0);
  EXPECT_TRUE(apps::SceneTally().lines().empty());
}

class EvalProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    models::write_model_file(model(), test::tiny_caption_model({"a cat left of a dog on grass", 24}));
  }

  static fs::path model() {
    static const test::TemporaryFolder folder;
    return folder.path() / "model.safetensors";
  }

  static test::ProgramResult eval(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, {"--model", model().string()});
    arguments.insert(arguments.begin(), {GAZE_PROGRAM, "eval"});
    return test::run_program(arguments);
  }

  static std::vector<json> lines(const std::string& text) {
    std::istringstream stream(text);
    std::vector<json> all;
    for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line));
    return all;
  }
};

TEST_F(EvalProgram, ScoresComposedScenesAndTheSameFromDisk) {
  if (!fs::is_directory(models::stamps_folder())) GTEST_SKIP() << "tuxpaint-stamps-default is not installed";
  const test::ProgramResult composed =
      eval({"scenes", "--count", "12", "--seed", "5", "--size", "64", "--json"});
  ASSERT_EQ(composed.status, 0) << composed.err;
  int64_t scenes = 0;
  for (const json& line : lines(composed.out)) {
    for (const char* key : {"n", "objects", "held_out", "nouns_right", "relations_right", "cider_d",
                            "pointing", "pointing_centre"}) {
      EXPECT_TRUE(line.contains(key)) << key;
    }
    scenes += line["n"].get<int64_t>();
  }
  EXPECT_EQ(scenes, 12);

  test::TemporaryFolder folder;
  const std::string data = (folder.path() / "scenes").string();
  ASSERT_EQ(test::run_program({GAZE_PROGRAM, "data", "scenes", "--out", data, "--count", "12", "--seed", "5",
                               "--size", "64", "--format", "png"})
                .status,
            0);
  const test::ProgramResult read = eval({"scenes", "--data", data, "--json"});
  EXPECT_EQ(read.status, 0) << read.err;
  EXPECT_EQ(read.out, composed.out);
}

TEST_F(EvalProgram, ListsEveryTestPhotographAndTheMissing) {
  const test::ProgramResult result = eval({"photographs", "--packages", "/nowhere", "--json", "--beam", "1"});
  EXPECT_EQ(result.status, 3) << result.err;  // those of packages are missing, the bundled are not
  std::vector<json> all = lines(result.out);
  ASSERT_FALSE(all.empty());
  const json total = all.back();
  all.pop_back();
  int64_t tests = 0, outside = 0;
  for (const models::Photograph& photograph : models::photograph_table()) {
    if (photograph.role != "test") continue;
    const json& line = all.at(static_cast<size_t>(tests++));
    EXPECT_EQ(line["photograph"], photograph.id);
    EXPECT_EQ(line.contains("error"), !photograph.bundled) << photograph.id;
    outside += !photograph.bundled;
  }
  EXPECT_EQ(static_cast<int64_t>(all.size()), tests);
  EXPECT_EQ(total["photographs"], tests);
  EXPECT_EQ(total["missing"], outside);
}

TEST_F(EvalProgram, SaysWhatIsWrong) {
  const test::ProgramResult folder = eval({"scenes", "--data", "/nowhere"});
  EXPECT_EQ(folder.status, 1);
  EXPECT_THAT(folder.err, HasSubstr("make the folder with: gaze data scenes"));
  EXPECT_EQ(eval({"scenes", "--data", "/nowhere", "--count", "3"}).status, 2);
  EXPECT_EQ(eval({"scenes", "--beam", "0"}).status, 2);
  EXPECT_EQ(eval({"photographs", "--model", "/nowhere"}).status, 2);  // twice --model
}

}  // namespace
}  // namespace gaze
