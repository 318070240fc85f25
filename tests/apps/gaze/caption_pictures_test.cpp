// gaze caption: which pictures it takes, in which batches and threads, and what it says of bad ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/caption_program.h"

namespace gaze {
namespace {

using nlohmann::json;
using test::ProgramResult;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class CaptionPictures : public test::CaptionProgramTest {
 protected:
  // The pictures that JSON lines on standard output name, below this test's folder.
  Words images(const ProgramResult& result) const {
    EXPECT_EQ(result.status, 0) << result.err;
    Words names;
    for (const std::string& image : captioned(result.out)) names.push_back(image.substr(path("").size()));
    return names;
  }

  // For wrong endings of a file.
  std::string add_cut(const std::string& name, const std::string& whole, double part) const {
    const std::string content = text(whole);
    return add_file(name, content.substr(0, static_cast<size_t>(part * static_cast<double>(content.size()))));
  }
};

TEST_F(CaptionPictures, a_folder_is_searched_for_pictures_only) {
  for (const char* name : {"photos/b.png", "photos/sub/deep/a.PNG", "photos/sub/c.jpeg", "photos/a.webp"})
    add_picture(name);
  add_picture("photos/.hidden.png");
  add_picture("photos/.cache/d.png");
  add_picture("photos/picture.png.bak");
  add_file("photos/notes.txt", "notes");
  fs::create_directories(path("photos/album.jpg"));
  EXPECT_THAT(images(caption({path("photos"), "--json"})),
              ElementsAre("photos/a.webp", "photos/b.png", "photos/sub/c.jpeg", "photos/sub/deep/a.PNG"));
}

TEST_F(CaptionPictures, files_folders_and_patterns_are_taken_in_their_order) {
  add_folder("b", 2);
  add_folder("a", 2);
  add_picture("own.picture");
  EXPECT_THAT(images(caption({path("b"), path("own.picture"), path("a/*1.png"), "--json"})),
              ElementsAre("b/00.png", "b/01.png", "own.picture", "a/01.png"));
}

TEST_F(CaptionPictures, a_picture_named_twice_is_captioned_once) {
  const std::string photos = add_folder("photos", 3);
  const ProgramResult result = caption({photos, photos + "/01.png", photos + "/*.png", "--json"});
  EXPECT_THAT(images(result), ElementsAre("photos/00.png", "photos/01.png", "photos/02.png"));
  EXPECT_THAT(result.err, HasSubstr("4 pictures are named again; each is captioned once"));
}

TEST_F(CaptionPictures, patterns_are_expanded) {
  for (const char* name : {"p/a1.png", "p/a2.png", "p/b1.png", "p/x/a1.png", "p/x/y/a1.png", "p/.a1.png"})
    add_picture(name);
  const auto matching = [&](const std::string& pattern) {
    return images(caption({path(pattern), "--json"}));
  };
  EXPECT_THAT(matching("p/a*.png"), ElementsAre("p/a1.png", "p/a2.png"));
  EXPECT_THAT(matching("p/?1.png"), ElementsAre("p/a1.png", "p/b1.png"));
  EXPECT_THAT(matching("p/**/[a]1.png"), ElementsAre("p/a1.png", "p/x/a1.png", "p/x/y/a1.png"));
  EXPECT_THAT(matching("p/x/*"), ElementsAre("p/x/a1.png", "p/x/y/a1.png"));
}

TEST_F(CaptionPictures, a_pattern_that_matches_nothing_is_named) {
  const std::string photos = add_folder("photos", 1), pattern = photos + "/*.gif";
  const ProgramResult alone = caption({pattern});
  EXPECT_EQ(alone.status, 1);
  EXPECT_THAT(alone.err, HasSubstr(pattern + ": does not exist"));
  const ProgramResult beside = caption({photos, pattern, "--json"});
  EXPECT_EQ(beside.status, 3);
  EXPECT_THAT(captioned(beside.out), ElementsAre(photos + "/00.png"));
  EXPECT_THAT(beside.err, HasSubstr("1 of 2 pictures failed:\n  " + pattern + "\n"));
}

TEST_F(CaptionPictures, a_name_that_looks_like_a_pattern_is_a_name) {
  add_picture("a[1].png");
  add_picture("a1.png");
  EXPECT_THAT(images(caption({path("a[1].png"), "--json"})), ElementsAre("a[1].png"));
}

TEST_F(CaptionPictures, a_list_has_a_path_a_line) {
  const std::string photos = add_folder("photos", 4);
  add_picture("more/a.png");
  const std::string list = "\n" + photos + "/03.png\r\n\r\n" + photos + "/00.png\n\n" + path("more") + "\n" +
                           photos + "/01.png";  // no line break at the end
  const ProgramResult result = caption_listed(list, {"-", "--json"});
  EXPECT_THAT(images(result), ElementsAre("photos/03.png", "photos/00.png", "more/a.png", "photos/01.png"));
}

TEST_F(CaptionPictures, a_list_does_not_expand_patterns) {
  add_picture("photos/00.png");
  const ProgramResult result = caption_listed(path("photos/*.png") + "\n", {"-"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("photos/*.png: does not exist"));
}

TEST_F(CaptionPictures, null_separates_names_with_line_breaks) {
  const Words names = {"two\nlines.png", "cr\r", " a \n", "plain.png"};
  std::string list;
  for (const std::string& name : names) list += add_picture(name, 1) + '\0';
  EXPECT_EQ(images(caption_listed(list, {"-", "--null", "--json"})), names);
  EXPECT_EQ(
      images(caption_listed(list.substr(0, list.size() - 1) + std::string(2, '\0'), {"-", "-0", "--json"})),
      names);
}

TEST_F(CaptionPictures, an_empty_list_is_a_failure) {
  for (const char* list : {"", "\n\r\n\n"}) {
    const ProgramResult result = caption_listed(list, {"-"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("-: lists no pictures"));
  }
}

TEST_F(CaptionPictures, bad_ones_are_named_at_the_end_and_the_others_captioned) {
  const std::string photos = add_folder("photos", 5), jpeg = add_picture("whole.jpg", 3, 64);
  models::save_image({64, 64, std::vector<uint8_t>(64 * 64 * 3, 90), 1}, jpeg);
  const Words bad = {add_cut("photos/005.jpg", jpeg, 0.6), add_cut("photos/01.jpg", photos + "/01.png", 0.5),
                     add_file("photos/02.jpg", ""), add_file("photos/025.jpg", "this is text"),
                     path("photos/none.png")};
  const ProgramResult result = caption({photos, bad.back(), "--json", "--batch", "2"});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(captioned(result.out), ElementsAre(photos + "/00.png", photos + "/01.png", photos + "/02.png",
                                                 photos + "/03.png", photos + "/04.png"));
  std::string end = "gaze: 5 of 10 pictures failed:\n";
  for (const std::string& name : bad) {
    EXPECT_THAT(result.err, HasSubstr("gaze: " + name + ": "));
    end += "  " + name + "\n";
  }
  EXPECT_THAT(result.err, ::testing::EndsWith(end));
}

TEST_F(CaptionPictures, of_many_bad_ones_the_first_are_named) {
  add_picture("photos/good.png");
  for (int i = 10; i < 33; ++i) add_file("photos/" + std::to_string(i) + ".png", "");
  const ProgramResult result = caption({path("photos")});
  EXPECT_EQ(result.status, 3);
  const std::string end = result.err.substr(result.err.find("23 of 24 pictures failed:\n"));
  EXPECT_THAT(end, HasSubstr("  " + path("photos/29.png") + "\n  and 3 more\n"));
  EXPECT_THAT(end, Not(HasSubstr("/30.png")));
  EXPECT_THAT(result.err, HasSubstr(path("photos/32.png") + ": is empty"));
}

TEST_F(CaptionPictures, batches_change_no_caption) {
  const std::string photos = add_folder("photos", 10);
  add_file("photos/035.png", "");
  const auto lines = [&](const char* batch) {
    return json_lines(caption({photos, "--json", "--batch", batch}).out);
  };
  const std::vector<json> one = lines("1");
  ASSERT_EQ(one.size(), 11U);
  for (const char* batch : {"3", "8"}) {
    const std::vector<json> other = lines(batch);
    ASSERT_EQ(other.size(), 11U);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(other[i]["image"], one[i]["image"]);
      ASSERT_EQ(other[i].contains("error"), one[i].contains("error"));
      if (one[i].contains("error")) continue;
      const json &expected = one[i]["captions"][0], &found = other[i]["captions"][0];
      EXPECT_EQ(found["text"], expected["text"]);
      EXPECT_NEAR(found["log_probability"], expected["log_probability"], 1e-5);
      if (i > 0 && one[i - 1].contains("captions")) {  // else the wrong picture's would do as well
        EXPECT_GT(std::abs(one[i - 1]["captions"][0]["log_probability"].get<double>() -
                           expected["log_probability"].get<double>()),
                  1e-4);
      }
    }
  }
}

// Large pictures between small ones are ready later.
TEST_F(CaptionPictures, threads_that_decode_change_nothing) {
  for (int i = 0; i < 12; ++i)
    add_picture("photos/" + std::to_string(10 + i) + ".png", i, i % 4 == 0 ? 600 : 16);
  add_file("photos/145.png", "no picture");
  const auto output = [&](const char* threads) {
    return caption({path("photos"), "--json", "--batch", "3", "--decode-threads", threads}).out;
  };
  const std::string one = output("1");
  EXPECT_EQ(captioned(one).size(), 12U);
  for (const char* threads : {"2", "4", "64"}) EXPECT_EQ(output(threads), one) << threads;
}

TEST_F(CaptionPictures, numbers_out_of_range_are_refused) {
  const std::string photos = add_folder("photos", 1);
  for (const Words& flag :
       {Words{"--batch", "0"}, Words{"--batch", "1025"}, Words{"--decode-threads", "0"}}) {
    const ProgramResult result = caption({photos, flag[0], flag[1]});
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, HasSubstr(flag[0]));
  }
}

}  // namespace
}  // namespace gaze
