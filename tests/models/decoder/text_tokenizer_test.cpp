#include "models/decoder/text_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::ElementsAre;
using Ids = std::vector<int64_t>;
using Kind = TextTokenizer::Kind;

// Tokens as "TEXT BEGIN END".
std::vector<std::string> tokens(Kind kind, const std::string& text) {
  std::vector<std::string> result;
  for (const TextToken& token : TextTokenizer::from_texts(kind, {}).tokens(text))
    result.push_back(token.text + " " + std::to_string(token.begin) + " " + std::to_string(token.end));
  return result;
}

TEST(TextTokenizer, characters_keep_their_case_and_white_space_is_a_token) {
  EXPECT_THAT(tokens(Kind::character, "Mar 3"), ElementsAre("M 0 1", "a 1 2", "r 2 3", "▁ 3 4", "3 4 5"));
  EXPECT_THAT(tokens(Kind::character, "我\u3000猫"), ElementsAre("我 0 1", "▁ 1 2", "猫 2 3"));
  EXPECT_TRUE(tokens(Kind::character, "").empty());
}

TEST(TextTokenizer, words_are_lower_case_and_signs_stand_alone) {
  EXPECT_THAT(tokens(Kind::word_punctuation, "I love cats."),
              ElementsAre("i 0 1", "love 2 6", "cats 7 11", ". 11 12"));
  EXPECT_THAT(
      tokens(Kind::word_punctuation, " “Café” 3rd-class!! "),
      ElementsAre("“ 1 2", "café 2 6", "” 6 7", "3rd 8 11", "- 11 12", "class 12 17", "! 17 18", "! 18 19"));
  EXPECT_THAT(tokens(Kind::word_punctuation, "6x7=42 $5"),
              ElementsAre("6x7 0 3", "= 3 4", "42 4 6", "$ 7 8", "5 8 9"));
  EXPECT_THAT(tokens(Kind::word_punctuation, "我 K，"), ElementsAre("我 0 1", "k 2 3", "， 3 4"));
}

TEST(TextTokenizer, apostrophes_join_letters_only) {
  EXPECT_THAT(tokens(Kind::word_punctuation, "Can’t don't"), ElementsAre("can't 0 5", "don't 6 11"));
  EXPECT_THAT(tokens(Kind::word_punctuation, "dogs' 'big' o''o"),
              ElementsAre("dogs 0 4", "' 4 5", "' 6 7", "big 7 10", "' 10 11", "o 12 13", "' 13 14",
                          "' 14 15", "o 15 16"));
}

TEST(TextTokenizer, rare_tokens_are_unknown) {
  const TextTokenizer all = TextTokenizer::from_texts(Kind::word_punctuation, {"a cat.", "A dog.", "a cat"});
  EXPECT_EQ(all.to_json()["data"],
            nlohmann::json({"<pad>", "<start>", "<end>", "<unk>", ".", "a", "cat", "dog"}));
  const TextTokenizer often =
      TextTokenizer::from_texts(Kind::word_punctuation, {"a cat.", "A dog.", "a cat"}, 2);
  EXPECT_EQ(often.to_json()["data"], nlohmann::json({"<pad>", "<start>", "<end>", "<unk>", ".", "a", "cat"}));
  EXPECT_EQ(often.encode("A dog, a cat."), (Ids{5, Vocabulary::kUnknown, Vocabulary::kUnknown, 5, 6, 4}));
  EXPECT_EQ(often.encode("<pad> <end>"), (Ids(6, Vocabulary::kUnknown))) << "no text is a special entry";
  EXPECT_EQ(TextTokenizer::from_texts(Kind::character, {"aab"}, 2).encode("ab"),
            (Ids{4, Vocabulary::kUnknown}));
  EXPECT_THROWS_WITH(TextTokenizer::from_texts(Kind::character, {}, 0), ArgumentError,
                     "[text_tokenizer] expected min_count of 1 or more; got min_count 0");
}

TEST(TextTokenizer, characters_come_back_as_they_were) {
  for (const char* text : {"Sunday, March 3, 2024", "二〇二四年三月三日", "我喜欢 K 和 café", ""}) {
    const TextTokenizer tokenizer = TextTokenizer::from_texts(Kind::character, {text});
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  const TextTokenizer tokenizer = TextTokenizer::from_texts(Kind::character, {"ab"});
  EXPECT_EQ(tokenizer.decode({1, 4, 0, 5, 3, 2}), "ab");
  EXPECT_THROWS_WITH(tokenizer.decode({6}), ArgumentError, "[vocabulary] expected id in 0..5; got id 6");
}

TEST(TextTokenizer, words_come_back_spaced_as_people_do) {
  for (const char* text :
       {"i love cats.", "a cat (black, or white): “can't!”", "我喜欢猫，和狗。", "what? yes; no…"}) {
    const TextTokenizer tokenizer = TextTokenizer::from_texts(Kind::word_punctuation, {text});
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(TextTokenizer, survives_json) {
  for (const Kind kind : {Kind::character, Kind::word_punctuation}) {
    const TextTokenizer tokenizer = TextTokenizer::from_texts(kind, {"The K, 猫 can't"});
    const TextTokenizer again = TextTokenizer::from_json(nlohmann::json::parse(tokenizer.to_json().dump()));
    EXPECT_EQ(again.kind(), kind);
    EXPECT_EQ(again.to_json(), tokenizer.to_json());
    EXPECT_EQ(again.encode("The K"), tokenizer.encode("The K"));
  }
}

TEST(TextTokenizer, says_what_is_wrong_with_its_json) {
  const auto read = [](const char* text) { return TextTokenizer::from_json(nlohmann::json::parse(text)); };
  EXPECT_THROWS_WITH(read(R"({"kind": "charakter", "data": []})"), ArgumentError,
                     "[vocabulary] unknown kind \"charakter\"; did you mean \"character\"? known: character, "
                     "word_punctuation");
  EXPECT_THROWS_WITH(
      read(R"({"kind": "character", "data": ["<pad>", "<start>", "<end>", "<unk>", "a", " "]})"),
      ArgumentError, "[vocabulary] expected a text without white space at data[5]; got \" \"");
  EXPECT_THROWS_WITH(
      read(R"({"kind": "character", "data": ["<pad>", "<start>", "<end>", "<unk>", "a", "a"]})"),
      ArgumentError, "[vocabulary] expected distinct words, data[5] new; got \"a\" again");
}

}  // namespace
}  // namespace gaze::models
