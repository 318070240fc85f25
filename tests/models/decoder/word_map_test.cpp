#include "models/decoder/word_map.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using Ids = std::vector<int64_t>;

constexpr char kMap[] = R"({"a": 1, "dog": 2, "<unk>": 3, "<start>": 4, "<end>": 5, "<pad>": 0})";

class WordMapFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_.string();
  }
  std::string problem(const std::string& what) const { return path_.string() + ": " + what + "; " + kNext; }

  static constexpr char kNext[] = "give the WORDMAP_*.json that was written with the checkpoint";
  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "WORDMAP.json";
};

TEST_F(WordMapFile, has_its_own_ids) {
  const WordMap map = WordMap::from_file(write(kMap));
  EXPECT_EQ(map.size(), 6);
  EXPECT_EQ(map.specials().pad, 0);
  EXPECT_EQ(map.specials().start, 4);
  EXPECT_EQ(map.specials().end, 5);
  EXPECT_EQ(map.specials().unknown, 3);
  EXPECT_EQ(map.encode(" A dog\tcat <end>"), (Ids{1, 2, 3, 3})) << "no text is a special entry";
  EXPECT_EQ(map.decode({4, 1, 2, 5}), "a dog");
  const std::vector<TokenSpan> words = map.words({1, 3, 2, 5});
  ASSERT_EQ(words.size(), 2);
  EXPECT_EQ(words[1].text, "dog");
  EXPECT_EQ(words[1].first, 2);
  EXPECT_EQ(words[1].last, 3);
  EXPECT_THROWS_WITH(map.decode({6}), ArgumentError, "[word_map] expected id in 0..5; got id 6");
}

TEST_F(WordMapFile, survives_json) {
  const WordMap map = WordMap::from_file(write(kMap));
  const std::shared_ptr<const Tokenizer> again = tokenizer_from_json(map.to_json());
  EXPECT_EQ(again->to_json(), map.to_json());
  EXPECT_EQ(again->encode("dog"), (Ids{2}));
  EXPECT_THROWS_WITH(WordMap::from_json({{"kind", "word_map"}}), ArgumentError,
                     "[word_map] expected a list \"data\"; got none");
  EXPECT_THROWS_WITH(WordMap::from_json({{"kind", "word_map"}, {"data", {"a", 1}}}), ArgumentError,
                     "[word_map] expected a word at data[1]; got number");
}

TEST_F(WordMapFile, what_does_not_fit_is_told) {
  const auto told = [&](const std::string& text, const std::string& what) {
    EXPECT_THROWS_WITH(WordMap::from_file(write(text)), FileError, problem(what));
  };
  told("{\"a\": 1", "is no JSON");
  told("[1]", "is no word map: [word_map] expected an object of words and their ids; got array");
  told(R"({"a": 2})", "is no word map: [word_map] expected ids in 0..0, as there are 1 words; got \"a\": 2");
  told(R"({"a": 0.5})",
       "is no word map: [word_map] expected ids in 0..0, as there are 1 words; got \"a\": 0.5");
  told(R"({"a": 1, "b": 1})", "is no word map: [word_map] expected a word for each id; got two for 1");
  told(R"({"a b": 0})", "is no word map: [word_map] expected words without white space; got \"a b\" for 0");
  told(R"({"": 0})", "is no word map: [word_map] expected words without white space; got \"\" for 0");
  told(R"({"a": 0})", "is no word map: [word_map] expected <pad> among the words; got 1 words without");
  EXPECT_THROWS_WITH(WordMap({"a", "a"}), ArgumentError,
                     "[word_map] expected distinct words; got \"a\" again");
}

}  // namespace
}  // namespace gaze::models
