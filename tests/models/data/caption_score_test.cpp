#include "models/data/caption_score.h"

#include <gtest/gtest.h>

namespace gaze::models {
namespace {

constexpr int64_t kSize = 100;

const Stamp* stamp(const std::string& noun) {
  for (const Stamp& row : stamp_table()) {
    if (row.noun == noun) return &row;
  }
  return nullptr;
}

SceneObject object(const std::string& noun, int64_t x, int64_t y) {
  SceneObject result;
  result.stamp = stamp(noun);
  result.noun = result.stamp ? result.stamp->name() : Noun{noun, noun + "s", "a"};
  result.mask.assign(kSize * kSize, 0);
  for (int64_t dy = 0; dy < 20; ++dy) {
    for (int64_t dx = 0; dx < 20; ++dx) result.mask[static_cast<size_t>((y + dy) * kSize + x + dx)] = 1;
  }
  return result;
}

Scene scene_of(std::vector<SceneObject> objects, std::vector<SceneRelation> relations) {
  Scene scene;
  scene.image.width = scene.image.height = kSize;
  scene.objects = std::move(objects);
  scene.relations = std::move(relations);
  scene.ground = "grass";
  return scene;
}

CaptionScore score(const std::string& caption, const Scene& scene) {
  return score_caption(parse_caption(words_of(caption)), scene);
}

// A thing left of gizmo, both unknown to the table.
Scene pair() {
  return scene_of({object("gadget", 10, 40), object("gizmo", 60, 42)}, {{0, "left of", 1}});
}

TEST(CaptionScore, EveryWordingOfASceneIsRight) {
  Scene scene = scene_of({object("gadget", 10, 10), object("gizmo", 60, 12), object("widget", 12, 70)},
                         {{0, "left of", 1}, {0, "above", 2}});
  for (const std::string& caption : scene_captions(facts_of(scene))) {
    const CaptionScore result = score(caption, scene);
    EXPECT_TRUE(result.nouns_right) << caption;
    EXPECT_TRUE(result.relations_right) << caption;
    EXPECT_EQ(result.phrase_of, (std::vector<int64_t>{0, 1, 2}));
  }
}

TEST(CaptionScore, AcceptsTheInverseRelation) {
  const CaptionScore result = score("a gizmo to the right of a gadget", pair());
  EXPECT_TRUE(result.nouns_right);
  EXPECT_TRUE(result.relations_right);
  EXPECT_EQ(result.phrase_of, (std::vector<int64_t>{1, 0}));
}

TEST(CaptionScore, RefusesAFalseRelation) {
  for (const char* caption : {"a gadget right of a gizmo", "a gizmo left of a gadget",
                              "a gadget above a gizmo", "a gadget in front of a gizmo"}) {
    EXPECT_TRUE(score(caption, pair()).nouns_right) << caption;
    EXPECT_FALSE(score(caption, pair()).relations_right) << caption;
  }
}

TEST(CaptionScore, ARelationMustBeStated) {
  EXPECT_TRUE(score("a gadget and a gizmo", pair()).nouns_right);
  EXPECT_FALSE(score("a gadget and a gizmo", pair()).relations_right);
}

TEST(CaptionScore, NothingMoreAndNothingLessMayBeNamed) {
  EXPECT_FALSE(score("a gadget left of a gizmo left of a cat", pair()).nouns_right);
  EXPECT_EQ(score("a gadget left of a gizmo left of a cat", pair()).named, 2);
  EXPECT_FALSE(score("a gadget", pair()).nouns_right);
  EXPECT_EQ(score("a gadget", pair()).named, 1);
  EXPECT_FALSE(score("two gadgets", pair()).nouns_right);
  EXPECT_FALSE(score("", pair()).nouns_right);
  EXPECT_FALSE(score("a gadget left of a super gizmo", pair()).nouns_right);  // whole words, whole nouns
}

TEST(CaptionScore, CountsWithMultiplicity) {
  const Scene twins = scene_of({object("gadget", 10, 40), object("gadget", 60, 42)}, {});
  EXPECT_TRUE(score("there are two gadgets on grass", twins).nouns_right);
  EXPECT_TRUE(score("a gadget left of a gadget", twins).nouns_right);
  EXPECT_FALSE(score("a gadget", twins).nouns_right);
  EXPECT_FALSE(score("three gadgets", twins).nouns_right);
  EXPECT_EQ(score("two gadgets", twins).phrase_of, (std::vector<int64_t>{0, 0}));
}

TEST(CaptionScore, AcceptsSynonymsAndTheGroundIsNoThing) {
  for (const Stamp& row : stamp_table()) {
    for (const std::string& name : accepted_nouns(row)) {
      SceneObject thing = object(row.noun, 40, 40);
      thing.stamp = &row;
      const Scene scene = scene_of({thing}, {});
      EXPECT_TRUE(score("a " + name + " on grass", scene).nouns_right) << row.file << ' ' << name;
    }
  }
  EXPECT_FALSE(score("a cat on gadget", scene_of({object("gadget", 10, 10)}, {})).nouns_right);
}

TEST(Mentions, LooksForWholeWords) {
  EXPECT_TRUE(mentions("a red panda on grass", "red panda"));
  EXPECT_TRUE(mentions("a red panda on grass", "panda"));
  EXPECT_TRUE(mentions("two dogs", "dog"));
  EXPECT_FALSE(mentions("a category", "cat"));
  EXPECT_FALSE(mentions("a red big panda", "red panda"));
  EXPECT_FALSE(mentions("a cat", ""));
}

}  // namespace
}  // namespace gaze::models
