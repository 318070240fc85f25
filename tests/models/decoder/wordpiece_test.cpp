#include "models/decoder/wordpiece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/decoder/bert_words.h"
#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<int64_t>;
using Texts = std::vector<std::string>;

nlohmann::json golden() {
  std::ifstream file(GAZE_SOURCE_DIR "/tests/golden/decoder/wordpiece.json");
  return nlohmann::json::parse(file);
}

//                        0        1        2        3        4    5      6       7        8    9    10   11
const Texts kTokens = {"[PAD]",  "[UNK]", "[CLS]", "[SEP]", "un", "##aff",
                       "##able", "##a",   "a",     "'",     "s",  "."};

Texts pieces(const WordPiece& tokenizer, const std::string& text) {
  const Texts tokens = tokenizer.to_json()["data"];
  Texts result;
  for (const int64_t id : tokenizer.encode(text)) result.push_back(tokens[static_cast<size_t>(id)]);
  return result;
}

TEST(WordPiece, has_the_ids_of_the_original) {
  const nlohmann::json golden_data = golden();
  const WordPiece tokenizer(golden_data["tokens"].get<Texts>());
  ASSERT_EQ(golden_data["lines"].size(), 400U);
  for (const auto& line : golden_data["lines"])
    EXPECT_EQ(tokenizer.encode(line[0]), line[1].get<Ids>()) << line[0].dump(-1, ' ', true);
}

TEST(WordPiece, decodes_like_hugging_face) {
  const nlohmann::json golden_data = golden();
  const WordPiece tokenizer(golden_data["tokens"].get<Texts>());
  ASSERT_EQ(golden_data["decoded"].size(), 60U);
  for (const auto& pair : golden_data["decoded"])
    EXPECT_EQ(tokenizer.decode(pair[0].get<Ids>()), pair[1]) << pair[0].dump();
}

// The example of Wu et al.'s algorithm in the original's comments: "unaffable" is un ##aff ##able.
TEST(WordPiece, takes_the_longest_pieces) {
  const WordPiece tokenizer(kTokens);
  EXPECT_EQ(tokenizer.encode("unaffable Una's"), (Ids{4, 5, 6, 4, 7, 9, 10}));
  EXPECT_EQ(tokenizer.encode("unaffablex b a"), (Ids{1, 1, 8})) << "all of a word is unknown, or none";
  EXPECT_THAT(tokenizer.encode(" \n"), IsEmpty());
  EXPECT_THAT(pieces(tokenizer, "[SEP] ##a"), ElementsAre("[UNK]", "[UNK]", "[UNK]", "[UNK]", "[UNK]", "a"));
}

TEST(WordPiece, a_word_has_at_most_a_hundred_characters) {
  const WordPiece tokenizer(kTokens);
  EXPECT_EQ(tokenizer.encode(std::string(100, 'a')).size(), 100U);
  EXPECT_EQ(tokenizer.encode(std::string(101, 'a')), (Ids{1}));
  std::string accented;
  for (int i = 0; i < 100; ++i) accented += "\u00E1";  // counted without its accent, and not in bytes
  EXPECT_EQ(tokenizer.encode(accented).size(), 100U);
}

TEST(WordPiece, tells_words_apart) {
  const WordPiece tokenizer(kTokens);
  const auto spans = [&](const Ids& ids) {
    Texts result;
    for (const TokenSpan& span : tokenizer.words(ids))
      result.push_back(span.text + " " + std::to_string(span.first) + " " + std::to_string(span.last));
    return result;
  };
  EXPECT_THAT(spans({2, 4, 5, 6, 9, 10, 8, 11, 3, 0}),
              ElementsAre("unaffable 1 4", "' 4 5", "s 5 6", "a 6 7", ". 7 8"));
  EXPECT_THAT(spans({7, 7, 1, 7}), ElementsAre("##aa 0 2", "##a 3 4")) << "special tokens belong to no word";
  EXPECT_THAT(spans({}), IsEmpty());
  EXPECT_THROWS_WITH(tokenizer.words({12}), ArgumentError, "[wordpiece] expected id in 0..11; got id 12");
  EXPECT_THROWS_WITH(tokenizer.decode({-1}), ArgumentError, "[wordpiece] expected id in 0..11; got id -1");
}

TEST(WordPiece, finds_its_special_tokens_by_name) {
  const WordPiece tokenizer({"a", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[CLS]"});
  const SpecialTokens specials = tokenizer.specials();
  EXPECT_EQ(specials.pad, 4);
  EXPECT_EQ(specials.start, 5);
  EXPECT_EQ(specials.end, 1);
  EXPECT_EQ(specials.unknown, 3);
  EXPECT_EQ(tokenizer.size(), 6);
  EXPECT_EQ(tokenizer.decode({5, 0, 2, 0, 3, 1, 4}), "a a") << "[MASK] is no text either";
  EXPECT_THAT(tokenizer.words({2}), IsEmpty());
}

TEST(WordPiece, survives_json) {
  const WordPiece tokenizer(kTokens);
  const auto again = tokenizer_from_json(nlohmann::json::parse(tokenizer.to_json().dump()));
  EXPECT_EQ(tokenizer.to_json()["kind"], "wordpiece");
  EXPECT_EQ(again->to_json(), tokenizer.to_json());
  EXPECT_EQ(again->encode("unaffable"), (Ids{4, 5, 6}));
  EXPECT_EQ(again->phrases("Unaffable"), (std::vector<Ids>{{4, 5, 6}}));
}

TEST(WordPiece, says_what_is_wrong_with_its_tokens) {
  const auto with = [](const Texts& more) {
    Texts tokens = kTokens;
    tokens.insert(tokens.end(), more.begin(), more.end());
    return WordPiece(tokens);
  };
  EXPECT_THROWS_WITH(with({"b", ""}), ArgumentError, "[wordpiece] expected no empty token; got one of id 13");
  EXPECT_THROWS_WITH(with({"b", "un"}), ArgumentError,
                     "[wordpiece] expected distinct tokens; got \"un\" of ids 4 and 13");
  EXPECT_THROWS_WITH(with({"\xE2\x82"}), ArgumentError,
                     "[wordpiece] expected tokens in UTF-8; got other bytes in the one of id 12");
  EXPECT_THROWS_WITH(
      with({"[unused1]", "[B]", "##B"}), ArgumentError,
      "[wordpiece] expected lower-case tokens, those of an uncased BERT; got \"##B\" of id 14");
  for (const char* missing : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    Texts tokens = kTokens;
    tokens.erase(std::find(tokens.begin(), tokens.end(), missing));
    EXPECT_THROWS_WITH(
        WordPiece{tokens}, ArgumentError,
        "[wordpiece] expected [PAD], [UNK], [CLS] and [SEP] among the tokens; got 11 tokens without " +
            std::string(missing));
  }
}

TEST(WordPiece, says_what_is_wrong_with_its_json) {
  const auto read = [](const char* text) { return WordPiece::from_json(nlohmann::json::parse(text)); };
  EXPECT_THROWS_WITH(read(R"({"kind": "wordpiece"})"), ArgumentError,
                     "[wordpiece] expected a list \"data\"; got none");
  EXPECT_THROWS_WITH(read(R"({"data": {}})"), ArgumentError,
                     "[wordpiece] expected a list \"data\"; got object");
  EXPECT_THROWS_WITH(read(R"({"data": ["[PAD]", 7]})"), ArgumentError,
                     "[wordpiece] expected a text at data[1]; got number");
  EXPECT_THROWS_WITH(
      read(R"({"data": []})"), ArgumentError,
      "[wordpiece] expected [PAD], [UNK], [CLS] and [SEP] among the tokens; got 0 tokens without [PAD]");
}

class WordPieceFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& bytes) const {
    std::filesystem::path path = folder_.path() / "vocab.txt";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  test::TemporaryFolder folder_;
  const std::string next_step_ = "; give the vocab.txt of an uncased BERT, a token a line";
};

TEST_F(WordPieceFile, is_a_token_a_line) {
  for (const char* text : {"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na",
                           "\xEF\xBB\xBF[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n"})
    EXPECT_EQ(WordPiece::from_file(write(text)).to_json()["data"],
              nlohmann::json({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"}));
}

TEST_F(WordPieceFile, says_what_is_wrong) {
  const std::string path = write("").string();
  EXPECT_THROWS_WITH(WordPiece::from_file(path), FileError, path + ": is empty" + next_step_);
  EXPECT_THROWS_WITH(WordPiece::from_file(folder_.path()), FileError,
                     folder_.path().string() + ": is a folder" + next_step_);
  EXPECT_THROWS_WITH(WordPiece::from_file("none/vocab.txt"), FileError,
                     "none/vocab.txt: does not exist; check the path");
  EXPECT_THROWS_WITH(WordPiece::from_file("/dev/null"), FileError,
                     "/dev/null: is no regular file" + next_step_);
  const auto expect = [&](const char* bytes, const std::string& problem) {
    EXPECT_THROWS_WITH(WordPiece::from_file(write(bytes)), FileError,
                       path + ": " + problem + next_step_ + " (line 1 has id 0)");
  };
  expect("[PAD]\n[UNK]\n[CLS]\na\n",
         "expected [PAD], [UNK], [CLS] and [SEP] among the tokens; got 4 tokens without [SEP]");
  expect("[PAD]\n\na\n", "expected no empty token; got one of id 1");
  expect("a\nb\na\n", "expected distinct tokens; got \"a\" of ids 0 and 2");
  expect("a\n\xFF\xFE\n", "expected tokens in UTF-8; got other bytes in the one of id 1");
  expect("a\nThe\n", "expected lower-case tokens, those of an uncased BERT; got \"The\" of id 1");
  std::filesystem::resize_file(path, 64'000'001);
  EXPECT_THROWS_WITH(WordPiece::from_file(path), FileError, path + ": is larger than 64 MB" + next_step_);
}

TEST(BertWords, are_clean_lower_case_and_without_accents) {
  EXPECT_THAT(bert_words(" A\tman's caf\u00E9,\r\ne\u0301t\u00E9 "),
              ElementsAre("a", "man", "'", "s", "cafe", ",", "ete"));
  EXPECT_THAT(bert_words("a\x01\u200Bb\u00A0c\u2028d"), ElementsAre("ab", "c", "d"));
  EXPECT_THAT(bert_words(std::string("a\0b", 3) + "\uFFFD\xFF" + "c"), ElementsAre("abc"));
  EXPECT_THAT(bert_words("^a$ 1+1 \u00A71"), ElementsAre("^", "a", "$", "1", "+", "1", "\u00A7", "1"));
  EXPECT_THAT(bert_words("\u0301"), IsEmpty());
}

TEST(BertWords, have_full_lower_case) {
  EXPECT_THAT(bert_words("\u0130I \u03A3\u0391\u03A3 \u03A3 \u03A3\u0391\u03A3\u0391 \u1E9E"),
              ElementsAre("ii", "\u03C3\u03B1\u03C2", "\u03C3", "\u03C3\u03B1\u03C3\u03B1", "\u00DF"));
}

TEST(BertWords, are_one_chinese_character) {
  EXPECT_THAT(bert_words("a\u732B\u72D7b \u304B\u306A \U00020000"),
              ElementsAre("a", "\u732B", "\u72D7", "b", "\u304B\u306A", "\U00020000"));
}

// U+1E4EC is a mark (Mn) and U+11F43 a punctuation mark since Unicode 15: unassigned in 14.
TEST(BertWords, are_those_of_unicode_14) {
  EXPECT_THAT(bert_words("a\U0001E4EC\U00011F43b"), ElementsAre("a\U0001E4EC\U00011F43"
                                                                "b"));
  EXPECT_THAT(bert_words("\u0391\U0001E4EC\u03A3"), ElementsAre("\u03B1\U0001E4EC\u03C3"));
}

}  // namespace
}  // namespace gaze::models
