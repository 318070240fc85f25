#include "models/data/scenes.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "models/data/caption_score.h"
#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

class Scenes : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(stamps_folder()))
      GTEST_SKIP() << "tuxpaint-stamps-default is not installed";
  }

  static SceneOptions options(Split split, int64_t min_objects = 1, int64_t max_objects = 3) {
    SceneOptions options;
    options.split = split;
    options.min_objects = min_objects;
    options.max_objects = max_objects;
    options.size = 160;
    options.folders.bundled = GAZE_SOURCE_DIR "/tests/photos";
    return options;
  }

  // A machine that has the stamps and no photograph.
  static SceneOptions without_photographs(const std::filesystem::path& folder, Split split) {
    std::filesystem::create_directories(folder / "usr/share/tuxpaint");
    std::filesystem::create_directory_symlink(stamps_folder(), folder / "usr/share/tuxpaint/stamps");
    SceneOptions result = options(split);
    result.folders.root = folder;
    result.folders.bundled = folder / "none";
    return result;
  }
};

uint64_t hash(uint64_t sum, const std::vector<uint8_t>& bytes) {
  for (uint8_t byte : bytes) sum = (sum ^ byte) * 0x100000001B3ULL;  // FNV-1a
  return sum;
}

TEST_F(Scenes, HoldWhatTheyPromise) {
  for (Split split : {Split::train, Split::val, Split::test}) {
    const SceneComposer composer(options(split));
    for (uint64_t i = 0; i < 60; ++i) {
      SCOPED_TRACE(std::string(split_text(split)) + " " + std::to_string(i));
      const Scene scene = composer.compose(i);
      const int64_t w = scene.image.width, h = scene.image.height;
      ASSERT_EQ(static_cast<int64_t>(scene.image.rgb.size()), 3 * w * h);
      ASSERT_TRUE(!scene.objects.empty() && scene.objects.size() <= 3);
      EXPECT_EQ(scene.captions, scene_captions(facts_of(scene)));
      EXPECT_EQ(scene.captions.size(), 5U);
      EXPECT_FALSE(scene.ground.empty());
      std::vector<Extent> extents;
      std::vector<int> covered(static_cast<size_t>(w * h), 0);
      std::set<std::string> nouns;
      size_t held = 0;
      for (const SceneObject& object : scene.objects) {
        extents.push_back(extent_of(object.mask, w, h));
        const double share = static_cast<double>(extents.back().area) / static_cast<double>(w * h);
        EXPECT_TRUE(share >= 0.02 && share <= 0.40) << share;
        for (size_t p = 0; p < covered.size(); ++p) covered[p] += object.mask[p];
        nouns.insert(object.noun.singular);
        held += object.stamp->split != Split::train;
        EXPECT_TRUE(object.stamp->split == Split::train || object.stamp->split == split);
      }
      EXPECT_TRUE(scene.held_out ? 2 * held >= scene.objects.size() : held == 0) << held;
      EXPECT_LE(*std::max_element(covered.begin(), covered.end()), 1) << "a pixel shows two objects";
      if (scene.relations.empty()) {
        EXPECT_EQ(nouns.size(), 1U);
      } else {
        EXPECT_EQ(nouns.size(), scene.objects.size());
        EXPECT_EQ(scene.relations.size(), scene.objects.size() - 1);
      }
      for (const SceneRelation& relation : scene.relations) {
        if (relation.name == "in front of") continue;
        EXPECT_TRUE(relation_holds(relation.name, extents[static_cast<size_t>(relation.first)],
                                   extents[static_cast<size_t>(relation.second)], w, h))
            << relation.name;
      }
      for (const std::string& caption : scene.captions) {
        const CaptionScore score = score_caption(parse_caption(words_of(caption)), scene);
        EXPECT_TRUE(score.nouns_right && score.relations_right) << caption;
      }
    }
  }
}

TEST_F(Scenes, MasksShowTheObject) {
  // The same scene on another ground differs outside the masks (and their shadows), hardly inside.
  test::TemporaryFolder folder;
  SceneOptions one = without_photographs(folder.path(), Split::train);
  const SceneComposer bare(one), full(options(Split::train));
  int64_t compared = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    const Scene a = bare.compose(i), b = full.compose(i);
    ASSERT_EQ(a.objects.size(), b.objects.size());
    EXPECT_EQ(a.captions[1], b.captions[1]);
    if (a.ground == b.ground) continue;
    double inside = 0, outside = 0;
    int64_t inside_count = 0, outside_count = 0;
    for (size_t p = 0; p < a.objects[0].mask.size(); ++p) {
      bool on = false;
      for (size_t o = 0; o < a.objects.size(); ++o) {
        EXPECT_EQ(a.objects[o].mask[p], b.objects[o].mask[p]);
        on |= a.objects[o].mask[p] != 0;
      }
      const double difference = std::abs(a.image.rgb[3 * p] - b.image.rgb[3 * p]);
      (on ? inside : outside) += difference;
      (on ? inside_count : outside_count) += 1;
    }
    EXPECT_LT(inside / inside_count, 12) << i;
    EXPECT_GT(outside / outside_count, inside / inside_count) << i;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_F(Scenes, AreTheSameInAnyOrderAndOnAnyThread) {
  const SceneComposer composer(options(Split::train)), again(options(Split::train));
  std::vector<Scene> backwards(12);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 12; i-- > 0;) {
        if (i % 3 == t) backwards[i] = again.compose(i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 12; ++i) {
    const Scene scene = composer.compose(i);
    EXPECT_EQ(scene.image.rgb, backwards[i].image.rgb);
    EXPECT_EQ(scene.captions, backwards[i].captions);
  }
}

TEST_F(Scenes, AreThesePixelsOnEveryMachine) {
  test::TemporaryFolder folder;
  const SceneComposer composer(without_photographs(folder.path(), Split::test));
  uint64_t sum = 0xCBF29CE484222325ULL;
  for (uint64_t i = 0; i < 24; ++i) {
    const Scene scene = composer.compose(i);
    sum = hash(sum, scene.image.rgb);
    for (const SceneObject& object : scene.objects) sum = hash(sum, object.mask);
  }
  EXPECT_EQ(sum, 0x24405847D71D2101ULL) << std::hex << "0x" << sum;
}

TEST_F(Scenes, DifferBySeedAndSplit) {
  SceneOptions other = options(Split::train);
  other.seed = 2;
  const Scene a = SceneComposer(options(Split::train)).compose(0), b = SceneComposer(other).compose(0),
              c = SceneComposer(options(Split::val)).compose(0);
  EXPECT_NE(a.image.rgb, b.image.rgb);
  EXPECT_NE(a.image.rgb, c.image.rgb);
}

TEST_F(Scenes, HoldOutAsOftenAsAsked) {
  for (double share : {0.0, 0.5, 1.0}) {
    SceneOptions test = options(Split::test, 1, 1);
    test.held_out = share;
    test.size = 64;
    const SceneComposer composer(test);
    int64_t held_out = 0;
    for (uint64_t i = 0; i < 200; ++i) held_out += composer.compose(i).held_out;
    EXPECT_NEAR(static_cast<double>(held_out) / 200, share, share == 0.5 ? 0.12 : 0);
  }
}

TEST_F(Scenes, SpreadOverSizesAndRelations) {
  SceneOptions train = options(Split::train);
  train.size = 96;
  const SceneComposer composer(train);
  std::set<std::string> relations, grounds;
  double smallest = 1, largest = 0;
  int64_t alike = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    const Scene scene = composer.compose(i);
    grounds.insert(scene.ground);
    for (const SceneRelation& relation : scene.relations) relations.insert(relation.name);
    alike += scene.objects.size() > 1 && scene.relations.empty();
    for (const SceneObject& object : scene.objects) {
      const double share = static_cast<double>(extent_of(object.mask, 96, 96).area) / (96 * 96);
      smallest = std::min(smallest, share), largest = std::max(largest, share);
    }
  }
  EXPECT_EQ(relations, (std::set<std::string>{"left of", "above", "below", "in front of"}));
  EXPECT_GE(grounds.size(), 8U);
  EXPECT_LT(smallest, 0.025);
  EXPECT_GT(largest, 0.33);
  EXPECT_TRUE(alike > 10 && alike < 80) << alike;
}

TEST_F(Scenes, CloseUpsFillMoreOfThePicture) {
  SceneOptions close = options(Split::train, 1, 1);
  close.size = 96;
  close.close_ups = 1;
  const SceneComposer composer(close);
  double largest = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    const Scene scene = composer.compose(i);
    const double share = static_cast<double>(extent_of(scene.objects[0].mask, 96, 96).area) / (96 * 96);
    EXPECT_TRUE(share >= 0.02 && share <= 0.85) << share;
    largest = std::max(largest, share);
  }
  EXPECT_GT(largest, 0.5);
}

TEST_F(Scenes, VaryInShapeWhenAsked) {
  SceneOptions varied = options(Split::train);
  varied.vary_aspect = true;
  const SceneComposer composer(varied);
  bool tall = false, wide = false;
  for (uint64_t i = 0; i < 20; ++i) {
    const Scene scene = composer.compose(i);
    EXPECT_EQ(std::max(scene.image.width, scene.image.height), 160);
    EXPECT_GE(std::min(scene.image.width, scene.image.height), 96);
    EXPECT_EQ(static_cast<int64_t>(scene.objects[0].mask.size()), scene.image.width * scene.image.height);
    tall |= scene.image.height > scene.image.width;
    wide |= scene.image.width > scene.image.height;
  }
  EXPECT_TRUE(tall && wide);
}

TEST(SceneOptionsTest, WrongOnesAreRefused) {
  SceneOptions options;
  options.max_objects = 4;
  EXPECT_THROWS_WITH(
      SceneComposer{options}, ArgumentError,
      "[scenes] expected 1 <= min_objects <= max_objects <= 3; got min_objects 1, max_objects 4");
  options.max_objects = 3;
  options.size = 8;
  EXPECT_THROWS_WITH(SceneComposer{options}, ArgumentError, "[scenes] expected size 64 to 2048; got size 8");
}

TEST(SceneOptionsTest, MissingStampsNameTheirPackage) {
  SceneOptions options;
  options.folders.root = "/nowhere";
  try {
    SceneComposer composer(options);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("tuxpaint-stamps-default"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gaze::models
