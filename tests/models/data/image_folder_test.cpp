#include "models/data/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ImageFolders : public ::testing::Test {
 protected:
  fs::path root() const { return folder_.path() / "data"; }

  void picture(const fs::path& name) const {
    fs::create_directories((root() / name).parent_path());
    Image image;
    image.width = image.height = 4;
    image.rgb.assign(48, 100);
    save_image(image, root() / name);
  }
  void pictures(const std::string& folder, int count) const {
    for (int i = 0; i < count; ++i) picture(fs::path(folder) / (std::to_string(100 + i) + ".png"));
  }
  void text(const fs::path& name, const std::string& content) const {
    fs::create_directories((root() / name).parent_path());
    std::ofstream(root() / name) << content;
  }
  ImageFolder read(double val_share = 0.2, uint64_t seed = 1) const {
    ImageFolderOptions options;
    options.val_share = val_share;
    options.seed = seed;
    options.threads = 2;
    return read_image_folder(root(), options);
  }

  static std::vector<std::string> names(const std::vector<LabelledPicture>& pictures) {
    std::vector<std::string> names;
    for (const LabelledPicture& picture : pictures)
      names.push_back(picture.file.filename().string() + ":" + std::to_string(picture.label));
    return names;
  }

  test::TemporaryFolder folder_;
};

TEST_F(ImageFolders, classes_are_the_folders_by_name_and_pictures_may_lie_deeper) {
  picture("train/zebra/b.png");
  picture("train/zebra/a.jpg");
  picture("train/ant/deep/er/c.png");
  picture("train/Yak/d.bmp.png");
  picture("train/ant/.hidden.png");
  text("train/ant/notes.txt", "no picture");
  for (const char* name : {"val/ant/1.png", "val/zebra/2.png", "val/Yak/3.png"}) picture(name);
  const ImageFolder result = read();
  EXPECT_THAT(result.classes, ElementsAre("Yak", "ant", "zebra"));  // capitals first, as Python sorts
  EXPECT_THAT(names(result.train), ElementsAre("d.bmp.png:0", "c.png:1", "a.jpg:2", "b.png:2"));
  EXPECT_THAT(names(result.val), ElementsAre("3.png:0", "1.png:1", "2.png:2"));
  EXPECT_TRUE(result.unreadable.empty());
}

TEST_F(ImageFolders, split_takes_a_share_of_each_class_by_seed) {
  pictures("a", 10);
  pictures("b", 20);
  pictures("c", 2);
  const ImageFolder one = read(0.3, 1), again = read(0.3, 1), other = read(0.3, 2);
  EXPECT_EQ(names(one.val), names(again.val));
  EXPECT_NE(names(one.val), names(other.val));
  int64_t counts[3] = {0, 0, 0};
  for (const LabelledPicture& picture : one.val) ++counts[picture.label];
  EXPECT_EQ(counts[0], 3);
  EXPECT_EQ(counts[1], 6);
  EXPECT_EQ(counts[2], 1);  // 0.6 would round to 1; of two pictures one stays to train on
  std::set<std::string> all;
  for (const auto* part : {&one.train, &one.val}) {
    for (const LabelledPicture& picture : *part) all.insert(picture.file.string());
  }
  EXPECT_EQ(all.size(), 32U);
  EXPECT_EQ(one.train.size() + one.val.size(), 32U);
}

TEST_F(ImageFolders, a_share_never_takes_all_or_none) {
  pictures("a", 3);
  pictures("b", 3);
  EXPECT_EQ(read(0.01).val.size(), 2U);
  EXPECT_EQ(read(0.99).train.size(), 2U);
}

TEST_F(ImageFolders, unreadable_pictures_are_left_out_and_told) {
  pictures("a", 4);
  pictures("b", 4);
  text("a/broken.jpg", "no picture at all");
  text("b/empty.png", "");
  const ImageFolder result = read();
  EXPECT_EQ(result.train.size() + result.val.size(), 8U);
  ASSERT_EQ(result.unreadable.size(), 2U);
  EXPECT_THAT(result.unreadable[0], HasSubstr("a/broken.jpg"));
  EXPECT_THAT(result.unreadable[1], HasSubstr("b/empty.png: is empty"));
  EXPECT_EQ(result.image.max_pixels, ImageOptions().max_pixels);
}

TEST_F(ImageFolders, progress_counts_every_picture) {
  pictures("a", 3);
  pictures("b", 3);
  std::vector<int64_t> seen;
  read_image_folder(root(), {}, [&](int64_t done, int64_t count) {
    seen.push_back(done);
    EXPECT_EQ(count, 6);
  });
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(ImageFolders, says_what_is_wrong_with_a_folder) {
  const std::string at = root().string();
  EXPECT_THROWS_WITH(read(), FileError, at + ": does not exist; check the path");
  fs::create_directories(root());
  EXPECT_THROWS_WITH(read(), FileError,
                     at + ": holds no class folders; put a folder a class into it, each with its pictures");
  fs::create_directories(root() / "a");
  EXPECT_THROWS_WITH(
      read(), FileError,
      at + ": holds one class only, \"a\"; a classifier needs a folder for each of two classes or more");
  fs::create_directories(root() / "b");
  EXPECT_THROWS_WITH(
      read(), FileError,
      at + ": holds no pictures in its class folders; put JPEG, PNG, BMP, TIFF or WebP files into them");
  pictures("a", 2);
  EXPECT_THROWS_WITH(
      read(), FileError,
      at + "/b: this class holds no pictures; put JPEG, PNG, BMP, TIFF or WebP files into it, or "
           "remove the folder");
  pictures("b", 1);
  EXPECT_THROWS_WITH(
      read(), FileError,
      at + "/b: this class holds one picture; one to train on and one to validate on are needed; "
           "add pictures, or give the folder train and val sub-folders");
  EXPECT_THROWS_WITH(read(1.0), ArgumentError,
                     "[image_folder] expected val_share between 0 and 1; got val_share 1");
}

TEST_F(ImageFolders, a_class_of_unreadable_pictures_only_is_an_error) {
  pictures("a", 2);
  text("b/1.png", "");
  const std::string file = (root() / "b").string();
  EXPECT_THROWS_WITH(
      read(), FileError,
      file + ": this class holds no picture that can be read (" + file +
          "/1.png: is empty; copy or download it again); put JPEG, PNG, BMP, TIFF or WebP files "
          "into it, or remove the folder");
}

TEST_F(ImageFolders, train_and_val_must_agree) {
  pictures("train/a", 1);
  pictures("train/b", 1);
  EXPECT_THROWS_WITH(read(), FileError,
                     root().string() +
                         ": holds train but no val; add a folder val, or give the folder train "
                         "itself, which is then split");
  pictures("val/a", 1);
  pictures("val/c", 1);
  EXPECT_THROWS_WITH(read(), FileError,
                     root().string() +
                         ": train and val hold different classes: only one of them has b, c; give "
                         "both the same class folders");
}

TEST_F(ImageFolders, a_file_is_no_folder) {
  std::ofstream(root()) << "x";
  EXPECT_THROWS_WITH(
      read(), FileError,
      root().string() + ": is no folder; put a folder a class into it, each with its pictures");
}

}  // namespace
}  // namespace gaze::models
