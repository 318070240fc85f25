#include "models/decoder/byte_bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "models/decoder/gpt2_words.h"
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
  std::ifstream file(GAZE_SOURCE_DIR "/tests/golden/decoder/byte_bpe.json");
  return nlohmann::json::parse(file);
}

//                        0            1    2    3    4    5     6     7     8      9
const Texts kTokens = {"<|endoftext|>", "a", "b", "c", "Ġ", "ab", "bc", "Ġa", "Ġab", "Ã"};
const Texts kMerges = {"a b", "b c", "Ġ a", "Ġ ab"};

TEST(ByteBpe, has_the_ids_of_the_original) {
  const nlohmann::json data = golden();
  const ByteBpe tokenizer(data["tokens"].get<Texts>(), data["merges"].get<Texts>());
  ASSERT_EQ(data["lines"].size(), 400U);
  for (const auto& line : data["lines"])
    EXPECT_EQ(tokenizer.encode(line[0]), line[1].get<Ids>()) << line[0].dump(-1, ' ', true);
}

TEST(ByteBpe, decodes_like_the_original) {
  const nlohmann::json data = golden();
  const ByteBpe tokenizer(data["tokens"].get<Texts>(), data["merges"].get<Texts>());
  ASSERT_EQ(data["decoded"].size(), 60U);
  for (const auto& pair : data["decoded"])
    EXPECT_EQ(tokenizer.decode(pair[0].get<Ids>()), pair[1]) << pair[0].dump();
}

// "a b" comes before "b c", so abc is ab c; " ab" is merged by "a b" and "Ġ ab", never by "Ġ a".
TEST(ByteBpe, merges_the_first_pair_first) {
  const ByteBpe tokenizer(kTokens, kMerges);
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{5, 3}));
  EXPECT_EQ(tokenizer.encode("bc ab a"), (Ids{6, 8, 7}));
  EXPECT_EQ(tokenizer.encode("abab"), (Ids{5, 5}));
  EXPECT_EQ(tokenizer.encode("a  a"), (Ids{1, 4, 7}));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_EQ(tokenizer.encode("axÃ"), (Ids{1, 0, 9, 0})) << "bytes that are no token are unknown";
}

TEST(ByteBpe, keeps_bytes_that_are_no_utf8) {
  const nlohmann::json data = golden();
  const ByteBpe tokenizer(data["tokens"].get<Texts>(), data["merges"].get<Texts>());
  const std::string cut = "caf\xC3 \xE2\x82 ok";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(cut)), "caf\uFFFD \uFFFD ok");
}

TEST(ByteBpe, words_are_what_white_space_stands_between) {
  const ByteBpe tokenizer(kTokens, kMerges);
  const auto spans = [&](const Ids& ids) {
    Texts result;
    for (const TokenSpan& span : tokenizer.words(ids))
      result.push_back(span.text + " " + std::to_string(span.first) + " " + std::to_string(span.last));
    return result;
  };
  EXPECT_THAT(spans({0, 5, 3, 8, 8, 2, 0}), ElementsAre("abc 1 3", "ab 3 4", "abb 4 6"));
  EXPECT_THAT(spans({1, 0, 2}), ElementsAre("a 0 1", "b 2 3")) << "special tokens belong to no word";
  EXPECT_THAT(spans({4, 7, 4}), ElementsAre("a 1 2")) << "white space alone is no word";
  EXPECT_THAT(spans({1, 9}), ElementsAre("a\uFFFD 0 2"));
  EXPECT_THROWS_WITH(tokenizer.words({10}), ArgumentError, "[byte_bpe] expected id in 0..9; got id 10");
  EXPECT_THROWS_WITH(tokenizer.decode({-1}), ArgumentError, "[byte_bpe] expected id in 0..9; got id -1");
  EXPECT_EQ(tokenizer.decode({0, 7, 8, 4}), "a ab");
}

TEST(ByteBpe, a_phrase_stands_in_the_middle_or_at_the_start) {
  const ByteBpe tokenizer(kTokens, kMerges);
  EXPECT_EQ(tokenizer.phrases("ab a"), (std::vector<Ids>{{8, 7}, {5, 7}}));
  EXPECT_EQ(tokenizer.phrases(" ab\n"), (std::vector<Ids>{{8}, {5}}));
}

TEST(ByteBpe, finds_its_special_tokens_by_name) {
  const auto specials = [](const Texts& tokens) {
    const SpecialTokens found = ByteBpe(tokens, {}).specials();
    return Ids{found.pad, found.start, found.end, found.unknown};
  };
  EXPECT_EQ(specials({"a", "<|endoftext|>"}), (Ids{1, 1, 1, 1}));
  EXPECT_EQ(specials({"<|pad|>", "<|endoftext|>"}), (Ids{0, 1, 1, 1}));
  EXPECT_EQ(specials({"</s>", "<unk>", "<s>", "<pad>"}), (Ids{3, 2, 0, 1}));
  EXPECT_EQ(specials({"a", "</s>"}), (Ids{1, 1, 1, 1}));
}

TEST(ByteBpe, survives_json) {
  const ByteBpe tokenizer(kTokens, kMerges);
  EXPECT_EQ(tokenizer.to_json()["kind"], "byte_bpe");
  const auto again = tokenizer_from_json(nlohmann::json::parse(tokenizer.to_json().dump()));
  EXPECT_EQ(again->to_json(), tokenizer.to_json());
  EXPECT_EQ(again->encode("abc ab"), (Ids{5, 3, 8}));
  EXPECT_EQ(again->size(), 10);
}

TEST(ByteBpe, says_what_is_wrong_with_its_parts) {
  const auto with = [](const Texts& tokens, const Texts& merges) {
    Texts all = kTokens;
    all.insert(all.end(), tokens.begin(), tokens.end());
    return ByteBpe(all, merges);
  };
  EXPECT_THROWS_WITH(ByteBpe({"a"}, {}), ArgumentError,
                     "[byte_bpe] expected </s> or <|endoftext|> among the tokens; got 1 tokens without");
  for (const char* bad : {"", "\xC3"}) {
    EXPECT_THROWS_WITH(with({bad}, {}), ArgumentError,
                       "[byte_bpe] expected tokens of one UTF-8 character or more; got another one of id 10");
  }
  EXPECT_THROWS_WITH(with({"bc"}, {}), ArgumentError,
                     "[byte_bpe] expected distinct tokens; got \"bc\" of ids 6 and 10");
  for (const char* bad : {"ab", "a b c"}) {
    EXPECT_THROWS_WITH(with({}, {"a b", bad}), ArgumentError,
                       "[byte_bpe] expected \"LEFT RIGHT\" as merge 1; got \"" + std::string(bad) + "\"");
  }
  EXPECT_THROWS_WITH(with({}, {"a c"}), ArgumentError,
                     "[byte_bpe] expected \"ac\" of merge 0 among the tokens; got 10 tokens without");
  EXPECT_THROWS_WITH(with({}, {"d a"}), ArgumentError,
                     "[byte_bpe] expected \"d\" of merge 0 among the tokens; got 10 tokens without");
  EXPECT_THROWS_WITH(with({}, {"a b", "b c", "a b"}), ArgumentError,
                     "[byte_bpe] expected distinct merges, 2 new; got \"a b\" again");
}

TEST(ByteBpe, says_what_is_wrong_with_its_json) {
  const auto read = [](const char* text) { return ByteBpe::from_json(nlohmann::json::parse(text)); };
  EXPECT_THROWS_WITH(read("{}"), ArgumentError, "[byte_bpe] expected a list \"data\"; got none");
  EXPECT_THROWS_WITH(read(R"({"data": ["</s>"], "merges": "a"})"), ArgumentError,
                     "[byte_bpe] expected a list \"merges\"; got string");
  EXPECT_THROWS_WITH(read(R"({"data": ["</s>", null], "merges": []})"), ArgumentError,
                     "[byte_bpe] expected a text at data[1]; got null");
  EXPECT_THROWS_WITH(read(R"({"data": ["</s>"], "merges": [["a", "b"]]})"), ArgumentError,
                     "[byte_bpe] expected a text at merges[0]; got array");
}

class ByteBpeFiles : public ::testing::Test {
 protected:
  std::string write(const char* name, const std::string& bytes) const {
    const std::filesystem::path path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  ByteBpe read(const std::string& vocabulary, const std::string& merges) const {
    return ByteBpe::from_files(write("vocab.json", vocabulary), write("merges.txt", merges));
  }

  test::TemporaryFolder folder_;
  const std::string vocabulary_ = (folder_.path() / "vocab.json").string();
  const std::string merges_ = (folder_.path() / "merges.txt").string();
};

TEST_F(ByteBpeFiles, are_a_vocabulary_and_its_merges) {
  const char* vocabulary = R"({"b": 1, "</s>": 0, "a": 2, "ab": 3, "#version": 4, "aab": 5})";
  for (const char* merges : {"#version: 0.2\na b\na ab\n", "a b\r\na ab", "#version: 0.2\na b\n\na ab\n\n"}) {
    const nlohmann::json json = read(vocabulary, merges).to_json();
    EXPECT_EQ(json["data"], nlohmann::json({"</s>", "b", "a", "ab", "#version", "aab"}));
    EXPECT_EQ(json["merges"], nlohmann::json({"a b", "a ab"}));
  }
}

TEST_F(ByteBpeFiles, say_what_is_wrong) {
  const auto expect_vocabulary = [&](const char* text, const std::string& problem) {
    EXPECT_THROWS_WITH(
        read(text, "a b"), FileError,
        vocabulary_ + ": " + problem + "; give the vocab.json of a byte-level BPE, {token: id}");
  };
  expect_vocabulary("", "is empty");
  expect_vocabulary("{\"a\": 0", "is no JSON");
  expect_vocabulary("[1]", "is no JSON object");
  expect_vocabulary(R"({"a": 0, "b": 2})", "expected ids 0..1; got 2 of \"b\"");
  expect_vocabulary(R"({"a": 0, "b": -1})", "expected ids 0..1; got -1 of \"b\"");
  expect_vocabulary(R"({"a": "0"})", "expected ids 0..0; got \"0\" of \"a\"");
  expect_vocabulary(R"({"a": 0, "b": 0})", "expected distinct ids; got 0 of \"a\" and \"b\"");
  const std::string give_merges = "; give the merges.txt that belongs to the vocab.json";
  EXPECT_THROWS_WITH(read("{\"a\": 0}", ""), FileError, merges_ + ": is empty" + give_merges);
  EXPECT_THROWS_WITH(read("{\"a\": 0}", "a \xFF"), FileError, merges_ + ": is not UTF-8" + give_merges);
  EXPECT_THROWS_WITH(
      read(R"({"</s>": 0, "a": 1, "b": 2})", "a b\n"), FileError,
      vocabulary_ + ": does not fit " + merges_ +
          ": [byte_bpe] expected \"ab\" of merge 0 among the tokens; got 3 tokens without; give the "
          "vocab.json and merges.txt of one model");
}

Texts words(const std::string& text) {
  Texts result;
  for (const std::string_view word : gpt2_words(text)) result.emplace_back(word);
  return result;
}

// The pattern's alternatives one by one.
TEST(Gpt2Words, are_cut_by_the_pattern) {
  EXPECT_THAT(words("A dog's they'll I'd we'veX"),
              ElementsAre("A", " dog", "'s", " they", "'ll", " I", "'d", " we", "'ve", "X"));
  EXPECT_THAT(words("DOG'S ''s"), ElementsAre("DOG", "'", "S", " ''", "s"));
  EXPECT_THAT(words("x1\u0662 3.50$!"), ElementsAre("x", "1\u0662", " 3", ".", "50", "$!"));
  EXPECT_THAT(words("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(words("a\n b\n\nc \t"), ElementsAre("a", "\n", " b", "\n", "\n", "c", " \t"));
  EXPECT_THAT(words("\u3000\u3000\u732B\u00A0 "), ElementsAre("\u3000", "\u3000", "\u732B", "\u00A0 "));
  EXPECT_THAT(words("a\x1C\xFFz"), ElementsAre("a", "\x1C\xFF", "z"));
  EXPECT_THAT(words(""), IsEmpty());
}

}  // namespace
}  // namespace gaze::models
