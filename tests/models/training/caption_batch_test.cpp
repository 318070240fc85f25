#include "models/training/caption_batch.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <set>

namespace gaze::models {
namespace {

TEST(Renaming, is_a_permutation) {
  Random random({5});
  const Renaming renaming = random_renaming(50, random);
  const std::set<int64_t> targets(renaming.to.begin(), renaming.to.end());
  EXPECT_EQ(targets.size(), 50U);
  EXPECT_EQ(*targets.begin(), 0);
  EXPECT_EQ(*targets.rbegin(), 49);
}

TEST(NounGroups, classes_with_one_noun_share_a_group) {
  const NounGroups& groups = noun_groups();
  ASSERT_EQ(groups.of_class.size(), static_cast<size_t>(1000 + groups.extra));
  // 153 is the Maltese dog, 154 the Pekinese, 471 the cannon
  EXPECT_EQ(groups.of_class[153], groups.of_class[154]);
  EXPECT_NE(groups.of_class[153], groups.of_class[471]);
  EXPECT_EQ(groups.nouns[groups.of_class[471]].singular, "cannon");
  EXPECT_EQ(groups.of("cannon"), groups.of_class[471]);
  EXPECT_EQ(groups.of("no such thing"), -1);
}

TEST(NounGroups, every_training_stamp_has_a_class_that_can_show_it) {
  const NounGroups& groups = noun_groups();
  for (const Stamp& stamp : stamp_table()) {
    const int64_t group = groups.of(stamp.noun);
    ASSERT_GE(group, 0) << stamp.file;
    EXPECT_NE(std::find(groups.of_class.begin(), groups.of_class.end(), group), groups.of_class.end())
        << stamp.noun;
  }
  EXPECT_EQ(groups.of_class.back(), groups.ground());
}

TEST(SceneRecord, cells_belong_to_what_covers_them) {
  // a picture of 4 x 2 pixels in 2 x 1 cells: the dog has 3 of the left cell's 4 pixels, nothing the right
  // one's
  Scene scene;
  scene.image.width = 4;
  scene.image.height = 2;
  scene.objects.push_back({{"cannon", "cannons", "a"}, nullptr, {1, 1, 0, 0, 1, 0, 0, 0}});
  const int64_t cannon = noun_groups().of("cannon"), ground = noun_groups().ground();
  EXPECT_EQ(record_of(scene, 1, 2).cells, (std::vector<int64_t>{cannon, ground}));
  scene.objects[0].mask = {0, 0, 1, 0, 0, 0, 0, 0};  // a quarter of the right cell: neither
  EXPECT_EQ(record_of(scene, 1, 2).cells, (std::vector<int64_t>{ground, -1}));
}

TEST(SceneRecord, survives_json) {
  const SceneRecord record{
      {{{"dog", "dogs", "a"}, {"cat", "cats", "a"}}, {{0, "left of", 1}}, "grass"}, {4, -1}, {1, -1, 2}};
  const SceneRecord read = scene_record_from_json(to_json(record));
  EXPECT_EQ(read.facts.objects, record.facts.objects);
  EXPECT_EQ(read.facts.relations[0].name, "left of");
  EXPECT_EQ(read.facts.relations[0].second, 1);
  EXPECT_EQ(read.facts.ground, "grass");
  EXPECT_EQ(read.groups, record.groups);
  EXPECT_EQ(read.cells, record.cells);
}

TEST(Renaming, moves_evidence_and_noun_together) {
  const NounGroups& groups = noun_groups();
  const int64_t G = groups.size();
  const int64_t dalmatian = groups.of("dalmatian"), cannon = groups.of("cannon");
  const SceneRecord record{{{groups.nouns[dalmatian]}, {}, "grass"}, {dalmatian}, {}};
  Renaming swap{std::vector<int64_t>(groups.ground())};
  for (int64_t g = 0; g < groups.ground(); ++g) swap.to[g] = g;
  std::swap(swap.to[dalmatian], swap.to[cannon]);
  EXPECT_EQ(renamed(record, swap).objects[0].singular, "cannon");
  EXPECT_EQ(renamed(record, swap).ground, "grass");

  torch::Tensor cells = torch::zeros({2, 3, G});
  cells[0][1][dalmatian] = 7;
  cells[0][2][groups.ground()] = 3;
  cells[1][2][dalmatian] = 9;
  const torch::Tensor moved = rename_cells(cells, {swap, Renaming{}});
  EXPECT_EQ(moved[0][1][cannon].item<double>(), 7);
  EXPECT_EQ(moved[0][1][dalmatian].item<double>(), 0);
  EXPECT_EQ(moved[0][2][groups.ground()].item<double>(), 3);  // the ground stays
  EXPECT_EQ(moved[1][2][dalmatian].item<double>(), 9);        // this row was not renamed
  EXPECT_EQ(moved.sum().item<double>(), 19);
}

TEST(Renaming, follows_a_cycle_in_its_direction) {  // a swap alone would not tell `to` from its inverse
  const Renaming cycle{{1, 2, 0}};
  const torch::Tensor moved = rename_cells(torch::tensor({{{10., 20., 30.}}}), {cycle});
  EXPECT_TRUE(torch::equal(moved, torch::tensor({{{30., 10., 20.}}})));
}

TEST(SceneRecord, is_renamed_only_if_every_noun_has_a_group) {
  EXPECT_TRUE((SceneRecord{{}, {3, 5}, {}}).can_be_renamed());
  EXPECT_FALSE((SceneRecord{{}, {3, -1}, {}}).can_be_renamed());
}

TEST(TokenRows, shift_pad_and_cut) {
  const Vocabulary vocabulary = Vocabulary::from_captions({"a dog", "a red cat"});
  const auto id = [&](const char* word) { return vocabulary.id(word); };
  const TokenRows rows = token_rows({"a dog", "a red cat"}, vocabulary, 24);
  const int64_t ignored = TokenRows::kIgnored;
  EXPECT_TRUE(
      torch::equal(rows.inputs, torch::tensor({{Vocabulary::kStart, id("a"), id("dog"), Vocabulary::kPad},
                                               {Vocabulary::kStart, id("a"), id("red"), id("cat")}})));
  EXPECT_TRUE(torch::equal(rows.targets, torch::tensor({{id("a"), id("dog"), Vocabulary::kEnd, ignored},
                                                        {id("a"), id("red"), id("cat"), Vocabulary::kEnd}})));
  EXPECT_EQ(token_rows({"a red cat"}, vocabulary, 3).inputs.size(1), 3);
}

TEST(SceneVocabulary, a_noun_is_one_token) {
  const Vocabulary vocabulary = scene_vocabulary({});
  for (const Noun& noun : noun_groups().nouns) {
    for (const std::string& text : {noun.singular, noun.plural}) {
      const std::vector<int64_t> ids = vocabulary.encode(text);
      ASSERT_EQ(ids.size(), 1U) << text;
      EXPECT_NE(ids[0], Vocabulary::kUnknown) << text;
    }
  }
}

TEST(NamesAll, counts_and_refuses_extras) {
  const Noun dog{"dog", "dogs", "a"}, cat{"cat", "cats", "a"};
  const SceneFacts pair{{dog, cat}, {{0, "left of", 1}}, "grass"};
  EXPECT_TRUE(names_all("a dog left of a cat on grass", pair));
  EXPECT_FALSE(names_all("a dog on grass", pair));
  EXPECT_FALSE(names_all("a dog left of a dog on grass", pair));
  const SceneFacts two{{dog, dog}, {}, ""};
  EXPECT_TRUE(names_all("two dogs", two));
  EXPECT_FALSE(names_all("three dogs", two));
  EXPECT_FALSE(names_all("a dog", two));
}

}  // namespace
}  // namespace gaze::models
