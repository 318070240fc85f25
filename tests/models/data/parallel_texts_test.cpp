#include "models/data/parallel_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "models/data/simple_sentences.h"
#include "modules/core/error.h"
#include "modules/core/utf8.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

TEST(SimpleSentences, TranslateWordByWord) {
  const std::vector<TextPair> pairs = simple_sentences("zh_CN");
  EXPECT_EQ(pairs.size(), 7U * 4 * 14);
  // I love cats -> 我喜欢猫: characters 0, 2..5, 7..10 and 0, 1..2, 3.
  EXPECT_EQ(pairs.front().source, "I love cats");
  EXPECT_EQ(pairs.front().target, "我喜欢猫");
  EXPECT_EQ(source_spans(pairs.front()), (std::vector<CharacterSpan>{{0, 1}, {2, 6}, {2, 6}, {7, 11}}));
  std::set<std::string> texts;
  for (const TextPair& pair : pairs) texts.insert(pair.source + " " + pair.target);
  for (const char* text :
       {"she draws stars 她画星星", "he has fish 他有鱼", "they see the", "we see trees 我们看见树",
        "the children love pandas 孩子们喜欢熊猫", "you have books 你有书"}) {
    EXPECT_EQ(texts.count(text), text == std::string("they see the") ? 0U : 1U) << text;
  }
  EXPECT_EQ(simple_sentences("zh_TW").front().target, "我喜歡貓");
}

TEST(ParallelTexts, StampDescriptionsAreThoseOfTheLocaleByPath) {
  const test::TemporaryFolder folder;
  write(folder.path() / "b/frog.txt", "A frog.\nzh_CN.utf8=一只青蛙。\r\nzh_TW.utf8=青蛙\nja.utf8=カエル\n");
  write(folder.path() / "a/cat.txt", "A cat.\r\nde.utf8=Eine Katze.\nzh_CN.utf8=猫。\n");
  write(folder.path() / "a/dog.txt", "A dog.\nde.utf8=Ein Hund.\n");
  write(folder.path() / "a/cat.ogg", "A cat.\nzh_CN.utf8=猫。\n");
  write(folder.path() / "a/long.txt", "A long line.\n" + std::string(5000, 'x') + "\nzh_CN.utf8=长\n");
  EXPECT_EQ(stamp_descriptions(folder.path(), "zh_CN"),
            (std::vector<TextPair>{{"A cat.", "猫。", {}}, {"A frog.", "一只青蛙。", {}}}));
  EXPECT_EQ(stamp_descriptions(folder.path(), "zh_TW"), (std::vector<TextPair>{{"A frog.", "青蛙", {}}}));
}

TEST(ParallelTexts, NamesThePackageToInstall) {
  const test::TemporaryFolder root;
  ParallelTextOptions options;
  options.folders.root = root.path();
  const auto error = [&](const std::string& path, const std::string& package) {
    return (root.path() / path).string() + ": does not exist; install the package " + package +
           ", or unpack it and give its folder";
  };
  EXPECT_THROWS_WITH(english_chinese_pairs(options), FileError,
                     error("usr/share/tuxpaint/stamps", "tuxpaint-stamps-default"));
  fs::create_directories(root.path() / "usr/share/tuxpaint/stamps");
  EXPECT_THROWS_WITH(english_chinese_pairs(options), FileError,
                     error("usr/share/locale/zh_CN/LC_MESSAGES/tuxpaint.mo", "tuxpaint-data"));
  options.locale = "ja";
  EXPECT_THROWS_WITH(english_chinese_pairs(options), ArgumentError,
                     "[english_chinese_pairs] expected locale zh_CN or zh_TW; got locale ja");
}

TEST(ParallelTexts, PunctuationAndCaseDoNotChangeTheSplit) {
  int64_t test = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string number = std::to_string(i);
    const Split split = text_split("A big cat " + number);
    EXPECT_EQ(text_split("a big  CAT, " + number + "!"), split);
    test += split == Split::test;
  }
  EXPECT_NEAR(static_cast<double>(test), 100, 38);  // four standard deviations
  EXPECT_EQ(text_split("I love cats"), Split::train);
  EXPECT_EQ(text_split("I love cats!"), Split::train);
}

class InstalledTexts : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const TextSource& source : text_sources()) {
      std::string path = source.path;
      const size_t locale = path.find("{}");
      if (locale != std::string::npos) path.replace(locale, 2, "zh_CN");
      if (!fs::exists("/" + path)) GTEST_SKIP() << source.package << " is not installed";
    }
  }
  static std::vector<TextPair> pairs_of(Split split, uint64_t seed = 1, const std::string& locale = "zh_CN") {
    ParallelTextOptions options;
    options.split = split;
    options.seed = seed;
    options.locale = locale;
    return english_chinese_pairs(options);
  }
};

std::string key_of(const std::string& text) {
  std::string key;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

TEST_F(InstalledTexts, SplitsShareNoEnglishText) {
  std::set<std::string> texts, keys[3];
  size_t all = 0;
  for (const Split split : {Split::train, Split::val, Split::test}) {
    const std::vector<TextPair> pairs = pairs_of(split);
    EXPECT_GT(pairs.size(), split == Split::train ? 1000U : 100U);
    RecordProperty(split_text(split), std::to_string(pairs.size()));
    all += pairs.size();
    for (const TextPair& pair : pairs) {
      texts.insert(pair.source);
      keys[static_cast<int>(split)].insert(key_of(pair.source));
    }
  }
  EXPECT_EQ(texts.size(), all) << "no text twice";
  for (const std::string& key : keys[static_cast<int>(Split::train)]) {
    EXPECT_EQ(keys[static_cast<int>(Split::val)].count(key), 0U) << key;
    EXPECT_EQ(keys[static_cast<int>(Split::test)].count(key), 0U) << key;
  }
}

TEST_F(InstalledTexts, TrainingHasTheDemonstrationAndEverySource) {
  const std::vector<TextPair> pairs = pairs_of(Split::train);
  const auto has = [&](const std::string& source, const std::string& target) {
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const TextPair& pair) { return pair.source == source && pair.target == target; });
  };
  EXPECT_TRUE(has("I love cats", "我喜欢猫"));
  EXPECT_TRUE(has("A camel.", "骆驼。"));                                                      // a stamp
  EXPECT_TRUE(has("Pick a picture to stamp around your drawing.", "选择图章点缀你的画吧！"));  // tuxpaint
  EXPECT_TRUE(has("Deal a new card from the deck", "从牌垛中发一张新牌"));                     // aisleriot
  for (const TextPair& pair : pairs) {
    EXPECT_EQ((pair.source + pair.target).find_first_of("%{}[]<>_\t\n~"), std::string::npos) << pair.source;
    EXPECT_LE(character_count(pair.source), 120);
  }
}

TEST_F(InstalledTexts, TheSeedIsTheOrderAlone) {
  std::vector<TextPair> first = pairs_of(Split::test, 1), second = pairs_of(Split::test, 2);
  EXPECT_EQ(first, pairs_of(Split::test, 1));
  EXPECT_FALSE(first == second);
  const auto by_source = [](const TextPair& a, const TextPair& b) { return a.source < b.source; };
  std::sort(first.begin(), first.end(), by_source);
  std::sort(second.begin(), second.end(), by_source);
  EXPECT_EQ(first, second);
}

TEST_F(InstalledTexts, TraditionalCharactersAreAnotherLocale) {
  const std::vector<TextPair> pairs = pairs_of(Split::train, 1, "zh_TW");
  EXPECT_TRUE(std::any_of(pairs.begin(), pairs.end(), [](const TextPair& pair) {
    return pair.source == "I love cats" && pair.target == "我喜歡貓";
  }));
}

}  // namespace
}  // namespace gaze::models
