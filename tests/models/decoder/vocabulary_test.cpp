#include "models/decoder/vocabulary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using Ids = std::vector<int64_t>;

TEST(Vocabulary, is_the_sorted_distinct_words_after_the_special_ones) {
  const Vocabulary vocabulary =
      Vocabulary::from_captions({"a dog  on grass", "A cat on a sofa\n", "", "<end> <unk>"});
  EXPECT_EQ(vocabulary.to_json()["data"],
            nlohmann::json({"<pad>", "<start>", "<end>", "<unk>", "a", "cat", "dog", "grass", "on", "sofa"}));
  EXPECT_EQ(vocabulary.size(), 10);
  EXPECT_EQ(Vocabulary().size(), 4);
}

TEST(Vocabulary, encodes_and_decodes) {
  const Vocabulary vocabulary = Vocabulary::from_captions({"a dog on grass"});
  EXPECT_EQ(vocabulary.encode(" A dog\ton ice "), (Ids{4, 5, 7, Vocabulary::kUnknown}));
  EXPECT_EQ(vocabulary.encode("").size(), 0U);
  EXPECT_EQ(vocabulary.decode({1, 4, 5, 3, 7, 6, 2, 0}), "a dog on grass");
  EXPECT_EQ(vocabulary.decode({}), "");
  EXPECT_EQ(vocabulary.id("grass"), 6);
  EXPECT_EQ(vocabulary.word(6), "grass");
}

TEST(Vocabulary, a_phrase_is_one_entry) {
  const Vocabulary vocabulary =
      Vocabulary::from_captions({"a Red panda on red sand", "a panda"}, {"Red  panda", "polar bear"});
  EXPECT_EQ(vocabulary.to_json()["data"],
            nlohmann::json({"<pad>", "<start>", "<end>", "<unk>", "a", "on", "panda", "polar bear", "red",
                            "red panda", "sand"}));
  EXPECT_EQ(vocabulary.encode("a red panda"), (Ids{4, 9}));
  EXPECT_EQ(vocabulary.encode("red red panda polar red"), (Ids{8, 9, Vocabulary::kUnknown, 8}));
  EXPECT_EQ(vocabulary.decode({4, 9, 5, 10}), "a red panda on sand");
  EXPECT_EQ(Vocabulary::from_json(vocabulary.to_json()).encode("a polar bear"), (Ids{4, 7}));
}

TEST(Vocabulary, survives_json) {
  const Vocabulary vocabulary = Vocabulary::from_captions({"a ladybird", "two caf\xC3\xA9s"});
  const Vocabulary again = Vocabulary::from_json(nlohmann::json::parse(vocabulary.to_json().dump()));
  EXPECT_EQ(again.to_json(), vocabulary.to_json());
  EXPECT_EQ(again.id("ladybird"), vocabulary.id("ladybird"));
}

TEST(Vocabulary, tokens_keep_their_case) {
  const Vocabulary vocabulary = Vocabulary::from_tokens({"b", "K", "b", "<end>"});
  EXPECT_EQ(vocabulary.to_json()["data"], nlohmann::json({"<pad>", "<start>", "<end>", "<unk>", "K", "b"}));
  EXPECT_EQ(vocabulary.id("K"), 4);
  EXPECT_EQ(vocabulary.id("k"), Vocabulary::kUnknown);
  for (const char* token : {"", "a b", "\u3000"}) {
    EXPECT_THROWS_WITH(
        Vocabulary::from_tokens({"a", token}), ArgumentError,
        "[vocabulary] expected tokens without white space; got \"" + std::string(token) + "\"");
  }
}

TEST(Vocabulary, ids_outside_are_errors) {
  const Vocabulary vocabulary;
  EXPECT_THROWS_WITH(vocabulary.word(4), ArgumentError, "[vocabulary] expected id in 0..3; got id 4");
  EXPECT_THROWS_WITH(vocabulary.word(-1), ArgumentError, "[vocabulary] expected id in 0..3; got id -1");
  EXPECT_THROWS_WITH(vocabulary.decode({2, 9}), ArgumentError, "[vocabulary] expected id in 0..3; got id 9");
}

TEST(Vocabulary, knows_every_way_to_say_a_phrase) {
  const Vocabulary vocabulary = Vocabulary::from_captions(
      {"a red bear panda on"}, {"red panda", "polar bear", "bear on", "panda panda"});
  const auto ways = [&](const char* text) {
    std::set<std::string> all;
    for (const std::vector<int64_t>& tokens : vocabulary.phrases(text)) {
      std::string way;
      for (const int64_t token : tokens) way += "[" + vocabulary.word(token) + "]";
      EXPECT_TRUE(all.insert(way).second) << way;
    }
    return all;
  };
  using Ways = std::set<std::string>;
  EXPECT_EQ(ways("Panda"), (Ways{"[panda]", "[red panda]", "[panda panda]"}));
  EXPECT_EQ(ways("red panda"), (Ways{"[red panda]", "[red][panda]", "[red][panda panda]"}));
  EXPECT_EQ(ways("a bear on red"), (Ways{"[a][bear][on][red]", "[a][bear][on][red panda]",
                                         "[a][bear on][red]", "[a][bear on][red panda]"}));
  EXPECT_EQ(ways("bear on"), (Ways{"[bear][on]", "[bear on]", "[polar bear][on]"}));
  EXPECT_EQ(vocabulary.phrases("zebra"), (std::vector<std::vector<int64_t>>{{Vocabulary::kUnknown}}));
  EXPECT_EQ(vocabulary.phrases(" "), (std::vector<std::vector<int64_t>>{{}}));
}

TEST(Vocabulary, says_what_is_wrong_with_its_json) {
  using nlohmann::json;
  const auto read = [](const char* text) { return Vocabulary::from_json(json::parse(text)); };
  EXPECT_THROWS_WITH(read("[]"), ArgumentError,
                     "[vocabulary] expected an object {\"kind\", \"data\"}; got array");
  EXPECT_THROWS_WITH(read(R"({"data": []})"), ArgumentError,
                     "[vocabulary] expected a text \"kind\"; got none");
  EXPECT_THROWS_WITH(read(R"({"kind": "worm"})"), ArgumentError,
                     "[vocabulary] unknown kind \"worm\"; did you mean \"word\"? known: word");
  EXPECT_THROWS_WITH(read(R"({"kind": "word", "data": "a"})"), ArgumentError,
                     "[vocabulary] expected a list \"data\"; got string");
  EXPECT_THROWS_WITH(read(R"({"kind": "word", "data": ["<pad>"]})"), ArgumentError,
                     "[vocabulary] expected at least the 4 special entries in \"data\"; got 1 entries");
  EXPECT_THROWS_WITH(read(R"({"kind": "word", "data": ["<pad>", "<end>", "<start>", "<unk>"]})"),
                     ArgumentError, "[vocabulary] expected \"<start>\" at data[1]; got \"<end>\"");
  const auto with = [&](const char* rest) {
    return read((R"({"kind": "word", "data": ["<pad>", "<start>", "<end>", "<unk>", "a", )" +
                 std::string(rest) + "]}")
                    .c_str());
  };
  EXPECT_THROWS_WITH(with("\"a\""), ArgumentError,
                     "[vocabulary] expected distinct words, data[5] new; got \"a\" again");
  EXPECT_THROWS_WITH(with("7"), ArgumentError, "[vocabulary] expected a word at data[5]; got number");
  EXPECT_THROWS_WITH(with("\"\""), ArgumentError,
                     "[vocabulary] expected lower-case words joined by single spaces at data[5]; got \"\"");
  EXPECT_THROWS_WITH(
      with("\"a  b\""), ArgumentError,
      "[vocabulary] expected lower-case words joined by single spaces at data[5]; got \"a  b\"");
  EXPECT_THROWS_WITH(
      with("\"Dog\""), ArgumentError,
      "[vocabulary] expected lower-case words joined by single spaces at data[5]; got \"Dog\"");
}

}  // namespace
}  // namespace gaze::models
