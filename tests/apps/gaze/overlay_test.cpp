// gaze overlay as a person runs it, on a small model with random weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/captioner/captioner.h"
#include "models/image/image.h"
#include "models/overlay/sha256.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_captioner.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class OverlayProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    test::TinyCaptioner tiny;
    tiny.module = "cbam";
    tiny.ends = false;  // random weights may end a caption before its first word
    models::write_model_file(model(), test::tiny_caption_model(tiny));
  }

  static fs::path model() {
    static const test::TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
    return folder.path() / "model.safetensors";
  }

  void SetUp() override {
    fs::create_directories(path("photos/more"));
    models::save_image({300, 200, std::vector<uint8_t>(300 * 200 * 3, 200), 1}, path("photos/a.png"));
    models::save_image({10, 40, std::vector<uint8_t>(10 * 40 * 3, 40), 1}, path("photos/more/b.jpg"));
    fs::permissions(folder_.path(), fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
  }

  fs::path path(const std::string& name) const { return folder_.path() / name; }

  test::ProgramResult overlay(std::vector<std::string> arguments,
                              const test::ProgramOptions& options = {}) const {
    arguments.insert(arguments.begin(), {GAZE_PROGRAM, "overlay", "--model", model().string()});
    return test::run_program(arguments, options);
  }

  static json manifest(const fs::path& folder) {
    std::ifstream stream(folder / "manifest.json");
    return json::parse(stream);
  }

  static std::set<std::string> names(const fs::path& folder) {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) found.insert(entry.path().filename().string());
    }
    return found;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(OverlayProgram, draws_what_speaks_for_each_word) {
  const test::ProgramResult result =
      overlay({path("photos/a.png").string(), "--out", path("out").string(), "--maps", "gradcam,hirescam,ig",
               "--layer", "layer3", "--steps", "4", "--max-words", "2", "--contour", "50,80", "--grid"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json found = manifest(path("out/a"));
  std::map<std::string, int> maps;
  for (const json& map : found["maps"]) {
    const std::string kind = map["kind"];
    ++maps[kind];
    EXPECT_EQ(map["rows"], kind == "ig" ? 64 : 4);
    EXPECT_EQ(map["name"].get<std::string>().rfind(kind + "/0", 0), 0) << map["name"];
    EXPECT_TRUE(fs::exists(path("out/a") / map["file"].get<std::string>()));
    EXPECT_TRUE(fs::exists(path("out/a") / map["raw"].get<std::string>()));
  }
  EXPECT_EQ(maps, (std::map<std::string, int>{{"gradcam", 2}, {"hirescam", 2}, {"ig", 2}}));
}

TEST_F(OverlayProgram, layers_are_listed_and_unknown_ones_named) {
  const test::ProgramResult listed = overlay({"--list-layers"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("layer3.1     256 x 4 x 4\n"));
  EXPECT_THAT(listed.out, HasSubstr("layer4       512 x 2 x 2\n"));
  const test::ProgramResult unknown = overlay({path("photos/a.png").string(), "--out", path("out").string(),
                                               "--maps", "gradcam", "--layer", "layer5"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("[explain] unknown layer \"layer5\"; did you mean \"layer"));
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(OverlayProgram, writes_every_file_of_a_picture_and_says_so) {
  const test::ProgramResult result = overlay({path("photos/a.png").string(), "--out", path("out").string(),
                                              "--maps", "cross,cbam", "--max-words", "4"});
  ASSERT_EQ(result.status, 0) << result.err;
  const fs::path folder = path("out/a");
  EXPECT_THAT(result.out, HasSubstr((folder / "strip.png").string()));
  const json found = manifest(folder);
  EXPECT_EQ(found["model"]["sha256"], models::file_sha256(model()));
  EXPECT_EQ(found["image"]["width"], 300);
  EXPECT_EQ(found["image"]["height"], 200);
  EXPECT_EQ(found["image"]["exif"], 1);
  EXPECT_EQ(found["seen"], json({0.0, 0.0, 300.0, 200.0}));
  EXPECT_EQ(found["options"]["colormap"], "viridis");
  EXPECT_EQ(found["options"]["beam"], 3);

  std::set<std::string> expected = {"strip.png", "manifest.json"};
  std::set<std::string> kinds;
  for (const json& map : found["maps"]) {
    kinds.insert(map["kind"].get<std::string>());
    expected.insert(map["raw"].get<std::string>());
    if (!map["file"].is_null()) expected.insert(map["file"].get<std::string>());
    if (map["kind"] == "word")
      EXPECT_EQ(map["to_image"], json({150.0, 0.0, 0.0, 0.0, 100.0, 0.0}));  // 2 x 2 cells
  }
  EXPECT_EQ(names(folder), expected);
  EXPECT_EQ(found["caption"]["words"].size(), 4U);
  EXPECT_EQ(kinds.count("word"), 1U);
  EXPECT_EQ(kinds.count("spatial"), 1U);
  EXPECT_EQ(kinds.count("channel"), 1U);
  EXPECT_EQ(expected.count("layer4.1.attn.0__spatial.png"), 1U);
  for (const json& map : found["maps"]) {
    if (map["file"].is_null()) continue;
    const models::Image drawn = models::load_image(folder / map["file"].get<std::string>());
    EXPECT_GE(drawn.width, 300);
    EXPECT_GT(drawn.height, 200);  // the legend is below
  }
}

TEST_F(OverlayProgram, without_legend_pictures_keep_their_size) {
  const test::ProgramResult result = overlay(
      {"--maps", "cbam", path("photos/more/b.jpg").string(), "--out", path("out").string(), "--no-legend"});
  ASSERT_EQ(result.status, 0) << result.err;
  const models::Image drawn = models::load_image(path("out/b/layer4.1.attn.0__spatial.png"));
  EXPECT_EQ(drawn.width, 10);
  EXPECT_EQ(drawn.height, 40);
  EXPECT_FALSE(fs::exists(path("out/b/strip.png")));
}

TEST_F(OverlayProgram, a_bad_picture_is_reported_and_skipped) {
  std::ofstream(path("photos/bad.jpg")) << "this is text";
  const test::ProgramResult result =
      overlay({path("photos").string(), "--out", path("out").string(), "--json"});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.err, HasSubstr("bad.jpg: is not a picture but text"));
  std::istringstream stream(result.out);
  std::vector<json> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["folder"], path("out/a").string());
  EXPECT_TRUE(lines[1].contains("error"));
  EXPECT_TRUE(fs::exists(path("out/more/b/manifest.json")));
  EXPECT_FALSE(fs::exists(path("out/bad")));
}

TEST_F(OverlayProgram, usage_errors) {
  EXPECT_EQ(overlay({path("photos").string()}).status, 2);  // no --out
  EXPECT_EQ(overlay({path("photos").string(), "--out", "x", "--beam", "0"}).status, 2);
  EXPECT_EQ(overlay({path("photos").string(), "--out", "x", "--colormap", "jet"}).status, 2);
  EXPECT_EQ(overlay({path("photos").string(), "--out", "x", "--blend", "none"}).status, 2);
  EXPECT_EQ(overlay({path("photos").string(), "--out", "x", "--maps", "cross,lime"}).status, 2);
}

TEST_F(OverlayProgram, read_only_output_leaves_nothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs to become another user";
  fs::create_directories(path("locked"));
  const test::ProgramResult result =
      overlay({path("photos/a.png").string(), "--out", path("locked").string()}, {65534});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot be written (Permission denied)"));
  EXPECT_TRUE(fs::is_empty(path("locked")));
}

TEST_F(OverlayProgram, full_disk_leaves_nothing_half_written) {
  fs::create_directories(path("small"));
  // Room for the first files of a gray picture, not for all.
  if (::mount("tmpfs", path("small").c_str(), "tmpfs", 0, "size=24k") != 0)
    GTEST_SKIP() << "may not mount a file system";
  const test::ProgramResult result =
      overlay({path("photos/a.png").string(), "--out", path("small").string()});
  std::set<std::string> left = names(path("small"));
  ::umount(path("small").c_str());
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot be written (No space left on device)"));
  EXPECT_EQ(left, std::set<std::string>());
}

}  // namespace
}  // namespace gaze
