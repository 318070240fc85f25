#include "models/data/scene_files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class SceneFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(stamps_folder())) GTEST_SKIP() << "tuxpaint-stamps-default is not installed";
  }

  static SceneComposer composer(uint64_t seed = 3) {
    SceneOptions options;
    options.split = Split::val;
    options.seed = seed;
    options.size = 96;
    options.vary_aspect = true;
    return SceneComposer(options);
  }

  test::TemporaryFolder folder_;
};

TEST_F(SceneFiles, ComeBackAsTheyWere) {
  const SceneComposer made = composer();
  write_scenes(made, {7, 2, "png"}, folder_.path() / "a");
  const SceneFolder read(folder_.path() / "a");
  ASSERT_EQ(read.size(), 7);
  for (int64_t i = 0; i < 7; ++i) {
    const Scene expected = made.compose(static_cast<uint64_t>(i)), scene = read.read(i);
    EXPECT_EQ(scene.image.rgb, expected.image.rgb);
    EXPECT_EQ(scene.captions, expected.captions);
    EXPECT_EQ(scene.ground, expected.ground);
    EXPECT_EQ(scene.held_out, expected.held_out);
    ASSERT_EQ(scene.objects.size(), expected.objects.size());
    for (size_t o = 0; o < scene.objects.size(); ++o) {
      EXPECT_EQ(scene.objects[o].noun, expected.objects[o].noun);
      EXPECT_EQ(scene.objects[o].stamp, expected.objects[o].stamp);
      EXPECT_EQ(scene.objects[o].mask, expected.objects[o].mask);
    }
    ASSERT_EQ(scene.relations.size(), expected.relations.size());
    for (size_t r = 0; r < scene.relations.size(); ++r) {
      EXPECT_EQ(scene.relations[r].first, expected.relations[r].first);
      EXPECT_EQ(scene.relations[r].name, expected.relations[r].name);
      EXPECT_EQ(scene.relations[r].second, expected.relations[r].second);
    }
  }
}

TEST_F(SceneFiles, AreCocoToo) {
  const SceneComposer made = composer();
  write_scenes(made, {4, 1, "jpg"}, folder_.path());
  const auto captions = nlohmann::json::parse(content(folder_.path() / "captions.json"));
  const auto instances = nlohmann::json::parse(content(folder_.path() / "instances.json"));
  EXPECT_EQ(captions["images"].size(), 4U);
  EXPECT_EQ(captions["annotations"].size(), 20U);
  EXPECT_EQ(captions["images"][3]["file_name"], "000004.jpg");
  EXPECT_TRUE(fs::exists(folder_.path() / "images/000004.jpg"));
  size_t objects = 0;
  for (uint64_t i = 0; i < 4; ++i) {
    const Scene scene = made.compose(i);
    for (const SceneObject& object : scene.objects) {
      const auto& instance = instances["annotations"].at(objects);
      const Extent extent = extent_of(object.mask, scene.image.width, scene.image.height);
      EXPECT_EQ(instance["id"], objects + 1);
      EXPECT_EQ(instance["image_id"], i + 1);
      EXPECT_EQ(instance["area"], extent.area);
      EXPECT_EQ(instance["bbox"],
                (std::vector<double>{extent.x0, extent.y0, extent.x1 - extent.x0, extent.y1 - extent.y0}));
      EXPECT_EQ(instance["segmentation"]["size"],
                (std::vector<int64_t>{scene.image.height, scene.image.width}));
      const size_t category = instance["category_id"].get<size_t>() - 1;
      EXPECT_EQ(instances["categories"].at(category)["name"], object.noun.singular);
      EXPECT_EQ(instances["categories"].at(category)["id"], category + 1);
      ++objects;
    }
  }
  EXPECT_EQ(instances["annotations"].size(), objects);
  const auto scenes = nlohmann::json::parse(content(folder_.path() / "scenes.json"));
  EXPECT_EQ(scenes[0]["image"], "images/000001.jpg");
}

TEST_F(SceneFiles, GoOnAfterAnInterruption) {
  write_scenes(composer(), {6, 1, "jpg"}, folder_.path() / "whole");
  // As a run that was killed leaves it: three whole lines and a torn one.
  const fs::path broken = folder_.path() / "broken";
  struct Killed {};
  EXPECT_THROW(write_scenes(composer(), {12, 1, "jpg"}, broken, [](int64_t, int64_t) { throw Killed(); }),
               Killed);
  ASSERT_TRUE(fs::exists(broken / "scenes.part.jsonl"));
  EXPECT_FALSE(fs::exists(broken / "scenes.json"));
  std::string part = content(broken / "scenes.part.jsonl");
  size_t end = 0;
  for (int line = 0; line < 4; ++line) end = part.find('\n', end) + 1;
  std::ofstream(broken / "scenes.part.jsonl", std::ios::binary) << part.substr(0, end + 40);
  int64_t first = 0;
  write_scenes(composer(), {6, 1, "jpg"}, broken,
               [&](int64_t done, int64_t) { first = first ? first : done; });
  EXPECT_EQ(content(broken / "scenes.json"), content(folder_.path() / "whole/scenes.json"));
  EXPECT_EQ(content(broken / "instances.json"), content(folder_.path() / "whole/instances.json"));
  EXPECT_EQ(content(broken / "images/000005.jpg"), content(folder_.path() / "whole/images/000005.jpg"));
  EXPECT_FALSE(fs::exists(broken / "scenes.part.jsonl"));
}

TEST_F(SceneFiles, RefuseAFolderOfSomethingElse) {
  struct Killed {};
  EXPECT_THROW(
      write_scenes(composer(), {9, 1, "jpg"}, folder_.path(), [](int64_t, int64_t) { throw Killed(); }),
      Killed);
  EXPECT_THROW(write_scenes(composer(4), {9, 1, "jpg"}, folder_.path()), FileError);  // other seed
  write_scenes(composer(), {9, 1, "jpg"}, folder_.path());
  EXPECT_THROW(write_scenes(composer(), {9, 1, "jpg"}, folder_.path()), FileError);  // finished
}

TEST_F(SceneFiles, SayWhatIsWrong) {
  EXPECT_THROW(SceneFolder(folder_.path()), FileError);
  std::ofstream(folder_.path() / "scenes.json") << "[{\"image\":";
  EXPECT_THROW(SceneFolder(folder_.path()), FileError);
  std::ofstream(folder_.path() / "scenes.json") << "[{\"ground\": 3}]";
  EXPECT_THROW(SceneFolder(folder_.path()).read(0), FileError);
}

}  // namespace
}  // namespace gaze::models
