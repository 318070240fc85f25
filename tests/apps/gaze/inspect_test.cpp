// gaze inspect as a person runs it.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/checkpoint/model_file.h"
#include "models/image/image.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kGolden = std::string(GAZE_SOURCE_DIR) + "/tests/golden/checkpoint/";

test::ProgramResult inspect(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {GAZE_PROGRAM, "inspect"});
  return test::run_program(arguments);
}

TEST(InspectProgram, BareCheckpoint) {
  const test::ProgramResult result = inspect({kGolden + "zip_plain.pth"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, kGolden +
                            "zip_plain.pth\n"
                            "  checkpoint    PyTorch zip, 3.8 kB\n"
                            "  looks like    nothing gaze knows by its keys\n"
                            "  weights       8 tensors, 69 parameters\n"
                            "  types         float32 7, int64 1\n");
}

TEST(InspectProgram, KeysAsJson) {
  const test::ProgramResult result = inspect({"--json", "--keys", kGolden + "types.safetensors"});
  EXPECT_EQ(result.status, 0) << result.err;
  const json line = json::parse(result.out);
  EXPECT_EQ(line["kind"], "checkpoint");
  EXPECT_EQ(line["format"], "safetensors");
  EXPECT_EQ(line["metadata"], json({{"format", "pt"}}));
  EXPECT_EQ(line["keys"].size(), 13U);
  EXPECT_EQ(line["keys"][11], json({{"name", "matrix"}, {"dtype", "float32"}, {"shape", {2, 3}}}));
}

TEST(InspectProgram, ModelFile) {
  test::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.safetensors").string();
  const json description = {{"format", 1},
                            {"task", "caption"},
                            {"backbone", {{"name", "resnet18"}, {"stride", 32}}},
                            {"slots", {{"layer4.1.attn", "cbam"}}},
                            {"decoder", {{"layers", 2}, {"width", 256}}},
                            {"tokenizer", {{"kind", "word"}, {"data", {"a", "dog"}}}},
                            {"preprocessing", {{"mode", "squash"}, {"size", {224, 224}}}},
                            {"provenance", {{"licence", "BSD-3-Clause"}}}};
  models::write_model_file(path, {description, {{"backbone.a", at::ones({1000, 2}, at::kHalf)}}});
  const test::ProgramResult result = inspect({path});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* line : {"  model file    safetensors, 4.", "  task          caption\n",
                           "  backbone      resnet18, stride 32\n", "  slots         1: layer4.1.attn cbam\n",
                           "  decoder       layers 2, width 256\n", "  vocabulary    2 entries, word\n",
                           "  preprocessing mode squash, size [224,224]\n", "  licence       BSD-3-Clause\n",
                           "  weights       1 tensors, 2,000 parameters\n", "  types         float16 1\n"}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
  EXPECT_EQ(json::parse(inspect({path, "--json"}).out)["description"], description);
}

TEST(InspectProgram, Picture) {
  test::TemporaryFolder folder;
  const std::string path = (folder.path() / "a.png").string();
  models::save_image({30, 20, std::vector<uint8_t>(30 * 20 * 3, 7), 1}, path);
  EXPECT_EQ(inspect({path}).out, path + "\n  picture       30 x 20 pixels upright, EXIF orientation 1\n");
}

TEST(InspectProgram, ABadFileIsReportedAndTheOthersGoOn) {
  const test::ProgramResult mixed = inspect({kGolden + "zip_call.pth", kGolden + "zip_plain.pth", "--json"});
  EXPECT_EQ(mixed.status, 3);
  EXPECT_THAT(mixed.err,
              HasSubstr("holds an object made by posix.system, not a state dict (nothing of it was run)"));
  std::istringstream lines(mixed.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_THAT(json::parse(line)["error"].get<std::string>(), HasSubstr("posix.system"));
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(json::parse(line)["tensors"], 8);

  const test::ProgramResult missing = inspect({"none.pth"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(missing.out, "");
  EXPECT_EQ(missing.err, "gaze: none.pth: does not exist; check the path\n");
  EXPECT_EQ(inspect({}).status, 2);
}

}  // namespace
}  // namespace gaze
