#include "apps/gaze/path_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace gaze::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class PathPattern : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a/1.jpg", "a/2.jpg", "a/b/1.jpg", "a/b/c/1.jpg", "a/.hidden/1.jpg", "a/.3.jpg",
                             "a/n[1].jpg", "a/two\nlines.jpg", "d/1.jpg"}) {
      const fs::path path = folder_.path() / name;
      fs::create_directories(path.parent_path());
      std::ofstream(path) << name;
    }
    fs::create_directory_symlink(folder_.path() / "a", folder_.path() / "a/b/loop");
  }

  // Below the folder.
  std::vector<std::string> matching(const std::string& pattern) const {
    const std::string folder = folder_.path().string() + "/";
    std::vector<std::string> names;
    for (const fs::path& path : files_matching(folder + pattern))
      names.push_back(path.string().substr(folder.size()));
    return names;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(PathPattern, star_and_question_mark_stay_within_a_folder) {
  EXPECT_THAT(matching("a/*.jpg"), ElementsAre("a/1.jpg", "a/2.jpg", "a/n[1].jpg", "a/two\nlines.jpg"));
  EXPECT_THAT(matching("a/?.jpg"), ElementsAre("a/1.jpg", "a/2.jpg"));
  EXPECT_THAT(matching("*/1.jpg"), ElementsAre("a/1.jpg", "d/1.jpg"));
  EXPECT_THAT(matching("*"), ElementsAre("a", "d"));
}

TEST_F(PathPattern, brackets_are_one_of_theirs) {
  EXPECT_THAT(matching("a/[13-9].jpg"), ElementsAre("a/1.jpg"));
  EXPECT_THAT(matching("a/[!1].jpg"), ElementsAre("a/2.jpg"));
  EXPECT_THAT(matching("a/n[[]1].jpg"), ElementsAre("a/n[1].jpg"));
  EXPECT_THAT(matching("a/n[1].jpg"), IsEmpty());
}

TEST_F(PathPattern, two_stars_are_any_folders_but_links_and_hidden_ones) {
  EXPECT_THAT(matching("a/**/1.jpg"), ElementsAre("a/1.jpg", "a/b/1.jpg", "a/b/c/1.jpg"));
  EXPECT_THAT(matching("**/c/*"), ElementsAre("a/b/c/1.jpg"));
  EXPECT_THAT(matching("**/**/c/**/1.jpg"), ElementsAre("a/b/c/1.jpg"));
  EXPECT_THAT(matching("a/b/**"), ElementsAre("a/b"));
}

TEST_F(PathPattern, hidden_names_match_where_the_dot_is_written) {
  EXPECT_THAT(matching("a/.*.jpg"), ElementsAre("a/.3.jpg"));
  EXPECT_THAT(matching("a/.hidden/*"), ElementsAre("a/.hidden/1.jpg"));
}

TEST_F(PathPattern, what_matches_nothing_gives_nothing) {
  EXPECT_THAT(matching("a/*.gif"), IsEmpty());
  EXPECT_THAT(matching("none/*"), IsEmpty());
  EXPECT_THAT(matching("a/1.jpg/*"), IsEmpty());
}

TEST(IsPattern, is_what_has_one_of_its_characters) {
  for (const char* text : {"*", "a?", "[a", "photos/**/x"}) EXPECT_TRUE(is_pattern(text)) << text;
  for (const char* text : {"", "photo.jpg", "a]", "-"}) EXPECT_FALSE(is_pattern(text)) << text;
}

}  // namespace
}  // namespace gaze::apps
