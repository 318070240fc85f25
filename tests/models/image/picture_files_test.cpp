#include "models/image/picture_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

TEST(PictureFiles, are_told_by_their_names) {
  for (const char* name : {"a.jpg", "b.JPEG", "c.PnG", "d.bmp", "e.tif", "f.tiff", "g.webp", "x.y.png"})
    EXPECT_TRUE(has_picture_name(name)) << name;
  for (const char* name : {"a.gif", "jpg", "a.txt", ".png", "a.png.txt", ""})
    EXPECT_FALSE(has_picture_name(name)) << name;
}

TEST(PictureFiles, are_found_in_order_below_a_folder_but_not_among_hidden_files) {
  const test::TemporaryFolder folder;
  for (const char* name : {"b.png", "a/z.jpg", "a/deep/c.webp", ".git/d.png", "a/.e.png", "notes.txt"}) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << "x";
  }
  std::filesystem::create_directories(folder.path() / "folder.png");
  EXPECT_THAT(pictures_below(folder.path()),
              ::testing::ElementsAre(folder.path() / "a/deep/c.webp", folder.path() / "a/z.jpg",
                                     folder.path() / "b.png"));
  EXPECT_TRUE(pictures_below(folder.path() / "nowhere").empty());
}

}  // namespace
}  // namespace gaze::models
