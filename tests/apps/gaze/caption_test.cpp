// gaze caption as a person runs it, on a small model with random weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/captioner/captioner.h"
#include "models/checkpoint/safetensors.h"
#include "models/image/image.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_captioner.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class CaptionProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    models::write_model_file(shared().path() / "model.safetensors", test::tiny_caption_model());
  }

  void SetUp() override {
    fs::create_directories(folder("photos/more"));
    models::save_image({30, 20, std::vector<uint8_t>(30 * 20 * 3, 200), 1}, folder("photos/a.png"));
    models::save_image({10, 40, std::vector<uint8_t>(10 * 40 * 3, 40), 1}, folder("photos/more/b.jpg"));
  }

  static const test::TemporaryFolder& shared() {
    static const test::TemporaryFolder folder;
    return folder;
  }

  std::string folder(const std::string& name) const { return (folder_.path() / name).string(); }

  static test::ProgramResult caption(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {GAZE_PROGRAM, "caption", "--model", (shared().path() / "model.safetensors").string()});
    return test::run_program(arguments);
  }

  static std::vector<json> lines(const std::string& text) {
    std::istringstream stream(text);
    std::vector<json> all;
    for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line));
    return all;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(CaptionProgram, says_a_line_a_picture) {
  const test::ProgramResult result = caption({folder("photos")});
  EXPECT_EQ(result.status, 0) << result.err;
  std::istringstream stream(result.out);
  std::string first, second, third;
  std::getline(stream, first);
  std::getline(stream, second);
  EXPECT_THAT(first, StartsWith(folder("photos/a.png") + ": "));
  EXPECT_THAT(first, ::testing::EndsWith(" %)"));
  EXPECT_THAT(second, StartsWith(folder("photos/more/b.jpg") + ": "));
  EXPECT_FALSE(std::getline(stream, third));
  EXPECT_EQ(result.err, "");
}

TEST_F(CaptionProgram, json_holds_words_maps_and_places) {
  const test::ProgramResult result =
      caption({folder("photos/a.png"), "--json", "--best", "2", "--max-words", "4"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<json> all = lines(result.out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["image"], folder("photos/a.png"));
  EXPECT_EQ(all[0]["width"], 30);
  EXPECT_EQ(all[0]["height"], 20);
  ASSERT_EQ(all[0]["captions"].size(), 2U);
  for (const json& found : all[0]["captions"]) {
    EXPECT_LE(found["words"].size(), 4U);
    for (const json& word : found["words"]) {
      // 64 x 64 at stride 32: 2 x 2 cells over 30 x 20 pixels.
      EXPECT_EQ(word["map"]["rows"], 2);
      EXPECT_EQ(word["map"]["values"].size(), 4U);
      EXPECT_EQ(word["map"]["to_image"], json::parse("[15.0, 0.0, 0.0, 0.0, 10.0, 0.0]"));
      EXPECT_EQ(word["evidence"].size(), 3U);
    }
  }
}

TEST_F(CaptionProgram, a_bad_picture_is_reported_and_skipped) {
  std::ofstream(folder("photos/bad.jpg")) << "this is text";
  const test::ProgramResult result =
      caption({folder("photos"), folder("none.png"), "--json", "--batch", "2"});
  EXPECT_EQ(result.status, 3);
  const std::vector<json> all = lines(result.out);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(all[0].contains("captions"));
  EXPECT_EQ(all[1]["image"], folder("photos/bad.jpg"));
  EXPECT_THAT(all[1]["error"].get<std::string>(), StartsWith(folder("photos/bad.jpg") + ": "));
  EXPECT_EQ(all[1].size(), 2U);
  EXPECT_TRUE(all[2].contains("captions"));
  EXPECT_THAT(all[3]["error"].get<std::string>(), HasSubstr("none.png"));
  EXPECT_THAT(result.err, HasSubstr("gaze: " + folder("photos/bad.jpg") + ": "));
}

TEST_F(CaptionProgram, nothing_but_bad_pictures_is_a_failure) {
  const test::ProgramResult result = caption({folder("none.png")});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("none.png"));
}

TEST_F(CaptionProgram, an_empty_folder_is_a_failure) {
  fs::create_directories(folder("empty"));
  const test::ProgramResult result = caption({folder("empty")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("holds no pictures"));
}

TEST_F(CaptionProgram, a_wrong_command_line_names_the_valid_range) {
  const test::ProgramResult zero = caption({folder("photos"), "--beam", "0"});
  EXPECT_EQ(zero.status, 2);
  EXPECT_THAT(zero.err, HasSubstr("--beam"));
  EXPECT_THAT(zero.err, HasSubstr("range 1 to 100"));
  const test::ProgramResult best = caption({folder("photos"), "--best", "4"});
  EXPECT_EQ(best.status, 2);
  EXPECT_THAT(best.err, HasSubstr("--best 4: expected 1..3"));
  EXPECT_EQ(caption({folder("photos"), "--backbone", "resnet18"}).status, 2);
  EXPECT_EQ(caption({}).status, 2);
}

TEST_F(CaptionProgram, too_many_pixels_are_refused) {
  const test::ProgramResult result = caption({folder("photos"), "--max-pixels", "500"});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.err, HasSubstr("a.png"));
  EXPECT_THAT(result.out, StartsWith(folder("photos/more/b.jpg")));
}

TEST_F(CaptionProgram, a_model_cut_in_half_is_a_failure) {
  const fs::path model = shared().path() / "model.safetensors";
  fs::copy_file(model, folder("half.safetensors"));
  fs::resize_file(folder("half.safetensors"), fs::file_size(model) / 2);
  const test::ProgramResult result =
      test::run_program({GAZE_PROGRAM, "caption", "--model", folder("half.safetensors"), folder("photos")});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("half.safetensors: "));
}

TEST_F(CaptionProgram, a_full_disk_is_a_failure) {
  const test::ProgramResult result = test::run_program({"sh", "-c",
                                                        std::string(GAZE_PROGRAM) + " caption --model " +
                                                            (shared().path() / "model.safetensors").string() +
                                                            " " + folder("photos") + " >/dev/full"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("standard output cannot be written to"));
}

TEST_F(CaptionProgram, another_network_of_the_same_classes_speaks_through_the_decoder) {
  torch::manual_seed(8);
  const auto own = models::make_backbone("resnet34", 10);
  models::write_safetensors(folder("own.safetensors"), {models::state_dict(*own), {}});
  const test::ProgramResult result =
      caption({folder("photos/a.png"), "--backbone", "resnet34", "--weights", folder("own.safetensors")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith(folder("photos/a.png") + ": "));
}

}  // namespace
}  // namespace gaze
