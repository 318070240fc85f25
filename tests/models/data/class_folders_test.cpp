#include "models/data/class_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/data/image_folder.h"
#include "models/data/scenes.h"
#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::ElementsAre;
namespace fs = std::filesystem;

class ClassFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(stamps_folder())) GTEST_SKIP() << "tuxpaint-stamps-default is not installed";
    options_.nouns = {"apple", "penguin"};
    options_.count = 5;
    options_.size = 64;
    options_.threads = 2;
  }
  fs::path out() const { return folder_.path() / "out"; }

  ClassFolderOptions options_;
  test::TemporaryFolder folder_;
};

TEST_F(ClassFolders, hold_scenes_of_their_noun) {
  write_class_folders(options_, out());
  const ImageFolder folder = read_image_folder(out(), {});
  EXPECT_THAT(folder.classes, ElementsAre("apple", "penguin"));
  EXPECT_EQ(folder.train.size(), 8U);
  EXPECT_EQ(folder.val.size(), 2U);
  EXPECT_EQ(load_image(folder.train[0].file).width, 64);

  SceneOptions scenes;
  scenes.split = Split::val;
  scenes.max_objects = 1;
  scenes.held_out = 0;
  scenes.nouns = {"penguin"};
  const SceneComposer composer(scenes);
  for (uint64_t i = 0; i < 20; ++i) {
    const Scene scene = composer.compose(i);
    ASSERT_EQ(scene.objects.size(), 1U);
    EXPECT_EQ(scene.objects[0].noun.singular, "penguin");
    EXPECT_EQ(scene.objects[0].stamp->split, Split::train);
  }
}

TEST_F(ClassFolders, leave_their_neighbours_alone) {
  const fs::path neighbour = folder_.path() / "out.part";
  fs::create_directories(neighbour / "mine");
  options_.count = 2;
  options_.val_share = 0.5;
  write_class_folders(options_, out() / "");  // as in --out out/
  EXPECT_TRUE(fs::exists(out() / "train" / "apple" / "001.jpg"));
  EXPECT_TRUE(fs::exists(neighbour / "mine"));
}

TEST_F(ClassFolders, without_nouns_are_those_with_most_stamps) {
  options_.nouns.clear();
  options_.classes = 3;
  options_.count = 2;
  options_.val_share = 0.5;
  write_class_folders(options_, out());
  EXPECT_THAT(read_image_folder(out(), {}).classes, ElementsAre("coin", "flower", "planet"));
}

TEST_F(ClassFolders, leave_nothing_behind_where_they_fail) {
  options_.nouns = {"apple", "aple"};
  EXPECT_THROWS_WITH(write_class_folders(options_, out()), ArgumentError,
                     "[scenes] expected nouns of training stamps; got \"aple\"");
  EXPECT_FALSE(fs::exists(out()));
  options_.nouns = {"apple", "penguin"};
  options_.count = 1;
  EXPECT_THROWS_WITH(write_class_folders(options_, out()), ArgumentError,
                     "[class_folders] expected a picture to train on and one to validate on; got 1 and 0");
  options_.count = 5;
  options_.nouns.clear();
  options_.classes = 1000;
  EXPECT_THROW(write_class_folders(options_, out()), ArgumentError);
  fs::create_directories(out());
  options_.classes = 2;
  EXPECT_THROWS_WITH(write_class_folders(options_, out()), FileError,
                     out().string() + ": is already there; choose another folder, or delete this one");
}

TEST(SceneNouns, say_what_cannot_be) {
  if (!fs::is_directory(stamps_folder())) GTEST_SKIP() << "tuxpaint-stamps-default is not installed";
  SceneOptions options;
  options.nouns = {"apple"};
  EXPECT_THROWS_WITH(SceneComposer{options}, ArgumentError,
                     "[scenes] expected max_objects 1 where nouns are given; got max_objects 3");
  options.max_objects = 1;
  options.nouns = {"penguin"};
  options.split = Split::val;
  options.held_out = 0.5;
  EXPECT_THROWS_WITH(SceneComposer{options}, ArgumentError,
                     "[scenes] expected held_out 0 for nouns without held-out stamps; got held_out 0.5");
}

}  // namespace
}  // namespace gaze::models
