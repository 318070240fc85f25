#include "models/data/scene_captions.h"

#include <gtest/gtest.h>

#include "models/data/tables.h"

namespace gaze::models {
namespace {

const Noun kCat{"cat", "cats", "a"}, kOwl{"owl", "owls", "an"}, kGrapes{"grapes", "grapes", ""};

TEST(SceneCaptions, SayOneThing) {
  EXPECT_EQ(scene_captions({{kOwl}, {}, "grass"}),
            (std::vector<std::string>{"an owl on grass", "an owl", "there is an owl on grass",
                                      "a picture of an owl on grass", "a picture of an owl"}));
  EXPECT_EQ(scene_captions({{kGrapes}, {}, ""})[0], "grapes");
}

TEST(SceneCaptions, SayTwoThingsInOrder) {
  EXPECT_EQ(scene_captions({{kCat, kOwl}, {{0, "left of", 1}}, "the sky"}),
            (std::vector<std::string>{"a cat left of an owl against the sky", "a cat left of an owl",
                                      "there is a cat left of an owl against the sky",
                                      "a cat to the left of an owl against the sky",
                                      "a picture of a cat left of an owl"}));
}

TEST(SceneCaptions, SayThreeThings) {
  EXPECT_EQ(scene_captions({{kCat, kOwl, kGrapes}, {{0, "left of", 1}, {0, "above", 2}}, ""})[0],
            "a cat left of an owl and above grapes");
  EXPECT_EQ(scene_captions({{kCat, kOwl, kGrapes}, {{0, "above", 1}, {1, "left of", 2}}, "water"})[3],
            "a cat above an owl to the left of grapes in water");
}

TEST(SceneCaptions, CountWhatIsAlike) {
  EXPECT_EQ(scene_captions({{kCat, kCat}, {}, "sand"})[2], "there are two cats on sand");
  EXPECT_EQ(scene_captions({{kCat, kCat, kCat}, {}, "sand"})[0], "three cats on sand");
  // renamed alike: the relation would be said of the same noun twice
  EXPECT_EQ(scene_captions({{kCat, kCat}, {{0, "left of", 1}}, "sand"})[0], "two cats on sand");
  EXPECT_EQ(scene_captions({{kCat, kOwl}, {}, ""})[0], "a cat and an owl");
}

struct Case {
  std::string caption;
  std::vector<std::string> names;
  std::vector<int64_t> counts;
  std::vector<std::string> relations;  // "0 left of 1"
  std::string ground;
};

class Parse : public testing::TestWithParam<Case> {};

TEST_P(Parse, TakesTheCaptionApart) {
  const Case& expected = GetParam();
  const std::vector<std::string> words = words_of(expected.caption);
  const ParsedCaption parsed = parse_caption(words);
  ASSERT_EQ(parsed.phrases.size(), expected.names.size());
  for (size_t i = 0; i < parsed.phrases.size(); ++i) {
    const NounPhrase& phrase = parsed.phrases[i];
    EXPECT_EQ(phrase.name, expected.names[i]);
    EXPECT_EQ(phrase.count, expected.counts[i]);
    std::string text;
    for (int64_t w = phrase.first; w < phrase.last; ++w)
      text += (w > phrase.first ? " " : "") + words[static_cast<size_t>(w)];
    EXPECT_EQ(text, phrase.name);
  }
  std::vector<std::string> relations;
  for (const SceneRelation& relation : parsed.relations) {
    relations.push_back(std::to_string(relation.first) + " " + relation.name + " " +
                        std::to_string(relation.second));
  }
  EXPECT_EQ(relations, expected.relations);
  EXPECT_EQ(parsed.ground, expected.ground);
}

INSTANTIATE_TEST_SUITE_P(
    Captions, Parse,
    testing::Values(
        Case{"a red panda on grass", {"red panda"}, {1}, {}, "grass"},
        Case{"there is an owl", {"owl"}, {1}, {}, ""},
        Case{"there are two cats against a brick wall", {"cats"}, {2}, {}, "a brick wall"},
        Case{"a picture of a cat in front of grapes", {"cat", "grapes"}, {1, 1}, {"0 in front of 1"}, ""},
        Case{"a cat in front of an owl in water", {"cat", "owl"}, {1, 1}, {"0 in front of 1"}, "water"},
        Case{"a cat to the left of an owl and above a ball on sand",
             {"cat", "owl", "ball"},
             {1, 1, 1},
             {"0 left of 1", "0 above 2"},
             "sand"},
        Case{"a cat left of an owl below a ball",
             {"cat", "owl", "ball"},
             {1, 1, 1},
             {"0 left of 1", "1 below 2"},
             ""},
        Case{"a cat and an owl", {"cat", "owl"}, {1, 1}, {}, ""}, Case{"", {}, {}, {}, ""},
        Case{"left of", {}, {}, {}, ""}, Case{"a a on on", {"a on"}, {1}, {}, ""}));

TEST(SceneCaptions, ParseBackToTheirFacts) {
  for (const ClassNoun& row : class_nouns()) {
    for (const std::string& relation : {"left of", "above", "below", "in front of"}) {
      const SceneFacts facts{
          {row.noun_forms(), kCat, kOwl}, {{0, relation, 1}, {1, "left of", 2}}, "a corn field"};
      for (const std::string& caption : scene_captions(facts)) {
        const ParsedCaption parsed = parse_caption(words_of(caption));
        ASSERT_EQ(parsed.phrases.size(), 3U) << caption;
        EXPECT_EQ(parsed.phrases[0].name, row.noun) << caption;
        ASSERT_EQ(parsed.relations.size(), 2U) << caption;
        EXPECT_EQ(parsed.relations[0].name, relation) << caption;
        EXPECT_EQ(parsed.relations[1].first, 1) << caption;
      }
    }
  }
}

}  // namespace
}  // namespace gaze::models
