#include "models/data/tables.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "models/data/photographs.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

bool is_lower_case_words(const std::string& text) {
  const bool edges =
      !text.empty() && text.front() != ' ' && text.back() != ' ' && text.find("  ") == std::string::npos;
  return edges && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz -'") == std::string::npos;
}

bool article_fits(const std::string& article) {
  return article.empty() || article == "a" || article == "an";
}

TEST(Tables, StampsHaveEnoughNounsAndAllTheirForms) {
  std::set<std::string> nouns, files;
  for (const Stamp& stamp : stamp_table()) {
    EXPECT_TRUE(files.insert(stamp.file).second) << stamp.file << " stands twice";
    nouns.insert(stamp.noun);
    EXPECT_TRUE(is_lower_case_words(stamp.noun) && is_lower_case_words(stamp.plural)) << stamp.file;
    EXPECT_TRUE(article_fits(stamp.article)) << stamp.file << ' ' << stamp.article;
    EXPECT_FALSE(stamp.category.empty()) << stamp.file;
    for (int64_t index : stamp.imagenet) EXPECT_TRUE(index >= 0 && index < 1000) << stamp.file;
    if (stamp.sure_class) {
      EXPECT_NE(std::find(stamp.imagenet.begin(), stamp.imagenet.end(), *stamp.sure_class),
                stamp.imagenet.end())
          << stamp.file << " is sure of a class it does not show";
    }
  }
  EXPECT_GE(nouns.size(), 150U);
}

TEST(Tables, OneNounHasOnePluralAndOneArticle) {
  std::map<std::string, Noun> forms;
  for (const Stamp& stamp : stamp_table()) {
    const Noun& first = forms.emplace(stamp.noun, stamp.name()).first->second;
    EXPECT_EQ(first, stamp.name()) << stamp.file;
  }
  for (const ClassNoun& row : class_nouns()) {
    const Noun& first = forms.emplace(row.noun, row.noun_forms()).first->second;
    EXPECT_EQ(first, row.noun_forms()) << row.index << ' ' << row.noun;
  }
}

TEST(Tables, TestStampsHaveTwoOtherStampsOfTheirNoun) {
  std::map<std::string, int> others;
  for (const Stamp& stamp : stamp_table()) others[stamp.noun] += 1;
  for (const Stamp& stamp : stamp_table()) {
    if (stamp.split == Split::test) {
      EXPECT_GE(others[stamp.noun] - 1, 2) << stamp.file;
    }
  }
  // and of those at least one is for training
  std::set<std::string> trained;
  for (const Stamp& stamp : stamp_table()) {
    if (stamp.split == Split::train) trained.insert(stamp.noun);
  }
  for (const Stamp& stamp : stamp_table())
    EXPECT_TRUE(trained.count(stamp.noun)) << stamp.file << ' ' << stamp.noun;
}

TEST(Tables, StampsAreInTheirPackage) {
  if (!std::filesystem::is_directory(stamps_folder()))
    GTEST_SKIP() << "tuxpaint-stamps-default is not installed";
  for (const Stamp& stamp : stamp_table())
    EXPECT_TRUE(std::filesystem::is_regular_file(stamps_folder() / stamp.file)) << stamp.file;
}

TEST(Tables, EveryImageNetClassHasItsNoun) {
  ASSERT_EQ(class_nouns().size(), 1000U);
  for (size_t i = 0; i < 1000; ++i) {
    const ClassNoun& row = class_nouns()[i];
    EXPECT_EQ(row.index, static_cast<int64_t>(i));
    EXPECT_FALSE(row.name.empty());
    EXPECT_TRUE(is_lower_case_words(row.noun) && is_lower_case_words(row.plural)) << i << ' ' << row.noun;
    EXPECT_TRUE(article_fits(row.article)) << i;
  }
  EXPECT_EQ(class_nouns()[1].noun, "goldfish");
}

TEST(Tables, PhotographsAreGroundOrTestAndFollowTheirLicence) {
  std::set<std::string> ids;
  std::map<std::string, std::string> role_of;  // of each file of each package
  int64_t tests = 0;
  for (const Photograph& photo : photograph_table()) {
    EXPECT_TRUE(ids.insert(photo.id).second) << photo.id << " stands twice";
    EXPECT_TRUE(photo.role == "demo" || photo.role == "test" || photo.role == "ground") << photo.id;
    EXPECT_FALSE(photo.licence.empty()) << photo.id;
    EXPECT_EQ(photo.role == "ground", !photo.ground.empty()) << photo.id;
    EXPECT_EQ(photo.role == "ground", photo.nouns.empty()) << photo.id;
    EXPECT_EQ(photo.bundled, !photo.file.empty()) << photo.id;
    const std::string origin = photo.bundled ? photo.file : photo.path;
    const auto [place, is_new] = role_of.emplace(origin, photo.role);
    EXPECT_TRUE(is_new || place->second == photo.role)
        << photo.id << " is both " << place->second << " and " << photo.role;
    tests += photo.role == "test";
    if (photo.bundled) {
      const auto file = std::filesystem::path(GAZE_SOURCE_DIR) / photo.file;
      EXPECT_TRUE(std::filesystem::is_regular_file(file)) << file;
      EXPECT_EQ(file.parent_path(), std::filesystem::path(GAZE_SOURCE_DIR) / "tests/photos");
    }
  }
  EXPECT_GE(tests, 15);
}

TEST(Tables, AtLeastFifteenTestPhotographsHaveANounOfTheTable) {
  std::set<std::string> nouns;
  for (const Stamp& stamp : stamp_table()) nouns.insert(stamp.noun);
  for (const ClassNoun& row : class_nouns()) nouns.insert(row.noun);
  int64_t known = 0;
  for (const Photograph& photo : photograph_table()) {
    const bool any = std::any_of(photo.nouns.begin(), photo.nouns.end(),
                                 [&](const std::string& noun) { return nouns.count(noun); });
    known += photo.role == "test" && any;
  }
  EXPECT_GE(known, 15);
}

TEST(Tables, EverySplitHasGrounds) {
  std::map<Split, int> grounds;
  for (const Photograph& photo : photograph_table()) {
    if (photo.role == "ground") grounds[photo.split] += 1;
  }
  EXPECT_GE(grounds[Split::train], 10);
  EXPECT_GE(grounds[Split::val], 2);
  EXPECT_GE(grounds[Split::test], 3);
}

TEST(Tables, PluralsComeFromTheTableOrByRule) {
  EXPECT_EQ(plural_of("sheep"), "sheep");
  EXPECT_EQ(plural_of("mouse"), "mice");
  EXPECT_EQ(plural_of("unheard thing"), "unheard things");
  EXPECT_EQ(plural_of("glossy"), "glossies");
  EXPECT_EQ(plural_of("grey"), "greys");
  EXPECT_EQ(plural_of("patch"), "patches");
}

TEST(Tables, SplitsHaveNames) {
  for (Split split : {Split::train, Split::val, Split::test})
    EXPECT_EQ(split_from_text(split_text(split)), split);
  EXPECT_THROWS_WITH(split_from_text("dev"), ArgumentError,
                     "[data] expected split train, val or test; got split dev");
}

}  // namespace
}  // namespace gaze::models
