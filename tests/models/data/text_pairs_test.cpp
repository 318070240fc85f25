#include "models/data/text_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::ElementsAre;
using Links = std::vector<AlignmentLink>;

class TextPairs : public ::testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "pairs.tsv").string(); }
  std::string write(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }
  TextPairFile read(const std::string& bytes) const { return read_text_pairs(write(bytes)); }
  // The problems as "LINE: TEXT".
  static std::vector<std::string> problems(const TextPairFile& file) {
    std::vector<std::string> texts;
    for (const LineProblem& problem : file.problems)
      texts.push_back(std::to_string(problem.line) + ": " + problem.text);
    return texts;
  }

  test::TemporaryFolder folder_;
};

TEST_F(TextPairs, ReadsAPairALine) {
  const TextPairFile file = read("I love cats\t我喜欢猫\n3 March\t03\t0-1 2-0 2-0\na\tb\t\nlast\tline");
  EXPECT_EQ(file.pairs, (std::vector<TextPair>{{"I love cats", "我喜欢猫", {}},
                                               {"3 March", "03", {{2, 0}, {0, 1}}},
                                               {"a", "b", {}},
                                               {"last", "line", {}}}));
  EXPECT_EQ(file.lines, 4);
  EXPECT_EQ(file.skipped, 0);
  EXPECT_EQ(problem_report(path(), file), "");
}

TEST_F(TextPairs, ByteOrderMarkAndCarriageReturnsAreNoText) {
  EXPECT_EQ(read("\xEF\xBB\xBFone\t一\r\ntwo\t二\t0-0\r\n").pairs,
            (std::vector<TextPair>{{"one", "一", {}}, {"two", "二", {{0, 0}}}}));
}

TEST_F(TextPairs, SkipsBadLinesAndSaysWhy) {
  std::string words;
  for (int i = 0; i < 10000; ++i) words += "words ";
  const TextPairFile file =
      read("one\t一\nno tab here\n\n \r\nbad \xFF byte\t二\n" + words + "\t三\nthree\t" + words +
           "\n\tsource is missing\ntarget is missing\t\u3000\na\tb\tc\td\ntwo\t二\n");
  EXPECT_THAT(
      problems(file),
      ElementsAre("2: no tab between source and target", "3: empty", "4: empty", "5: not UTF-8 at byte 5",
                  "6: a source of 60,000 characters; at most 1,000 are read",
                  "7: a target of 60,000 characters; at most 1,000 are read", "8: an empty source",
                  "9: an empty target", "10: 4 columns; source, target and alignment are read"));
  EXPECT_EQ(file.pairs, (std::vector<TextPair>{{"one", "一", {}}, {"two", "二", {}}}));
  EXPECT_EQ(file.lines, 11);
  EXPECT_EQ(file.skipped, 9);
  EXPECT_EQ(problem_report("pairs.tsv", read("a\tb\nc\n")),
            "pairs.tsv: 1 of 2 lines were skipped\n  line 2: no tab between source and target");
}

TEST_F(TextPairs, ALineWithoutEndIsNotKeptInMemory) {
  const TextPairFile file = read("a\tb\n" + std::string(3 << 20, 'x') + "\nc\td\n");
  EXPECT_THAT(problems(file), ElementsAre("2: longer than 1.0 MB"));
  EXPECT_EQ(file.pairs.size(), 2U);
}

TEST_F(TextPairs, TextsMayBeAsLongAsTheOptionSays) {
  TextPairOptions options;
  options.max_characters = 3;
  const TextPairFile file = read_text_pairs(write("猫猫猫\tabc\nabcd\t猫\n"), options);
  EXPECT_EQ(file.pairs, (std::vector<TextPair>{{"猫猫猫", "abc", {}}}));
  EXPECT_THAT(problems(file), ElementsAre("2: a source of 4 characters; at most 3 are read"));
}

TEST_F(TextPairs, WhatIsNoAlignmentIsLeftOutAndThePairStays) {
  for (const char* column :
       {"x", "0", "0-", "-0", "0-0,1-1", "0--0", "+0-0", "3-0", "0-2", "0-0 1-99999999999999999999"}) {
    const TextPairFile file = read(std::string("cat\t猫猫\t") + column + "\n");
    EXPECT_EQ(file.pairs, (std::vector<TextPair>{{"cat", "猫猫", {}}}));
    EXPECT_EQ(file.skipped, 0);
    EXPECT_EQ(file.without_alignment, 1);
    EXPECT_THAT(problems(file), ElementsAre("1: read without its alignment: \"" + std::string(column) +
                                            "\" is not links within the texts, such as 0-0 1-2"));
  }
  const TextPairFile file = read("Hi.\t嗨。\tCC-BY 2.0 (France) Attribution: tatoeba.org #538123 (CM)\nc\n");
  EXPECT_EQ(
      problem_report("cmn.txt", file),
      "cmn.txt: 1 of 2 lines were skipped, 1 read without an alignment\n"
      "  line 1: read without its alignment: \"CC-BY 2.0 (France) Attribution: tatoeba....\" is not links "
      "within the texts, such as 0-0 1-2\n"
      "  line 2: no tab between source and target");
}

TEST_F(TextPairs, KeepsTheFirstProblemsOnly) {
  std::string text = "a\tb\n";
  for (int i = 0; i < 1500; ++i) text += "c\n";
  const TextPairFile file = read(text);
  EXPECT_EQ(file.skipped, 1500);
  EXPECT_EQ(file.problems.size(), 20U);
  const std::string report = problem_report("p", file);
  EXPECT_EQ(report.substr(0, 40), "p: 1,500 of 1,501 lines were skipped\n  l");
  EXPECT_EQ(report.substr(report.size() - 17), "\n  and 1,480 more");
}

TEST_F(TextPairs, SaysWhyAFileCannotBeRead) {
  EXPECT_THROWS_WITH(read_text_pairs("/nowhere.tsv"), FileError,
                     "/nowhere.tsv: does not exist; check the path");
  EXPECT_THROWS_WITH(read_text_pairs(folder_.path()), FileError,
                     folder_.path().string() + ": is a folder; give a file inside it");
  const std::string layout = "; write a pair a line, source, tab, target, in UTF-8";
  EXPECT_THROWS_WITH(read(""), FileError, path() + ": is empty" + layout);
  EXPECT_THROWS_WITH(read("\xFF\xFEh\0i\0"), FileError, path() + ": is UTF-16; save it as UTF-8");
  EXPECT_THROWS_WITH(
      read("one\ncolumn\n"), FileError,
      path() + ": has no usable pair in its 2 lines (line 1: no tab between source and target)" + layout);
  EXPECT_THROWS_WITH(read("\xEF\xBB\xBF"), FileError,
                     path() + ": has no usable pair in its 1 lines (line 1: empty)" + layout);
}

TEST_F(TextPairs, ReadsWhatItWrote) {
  const std::vector<TextPair> pairs = {{"I love cats", "我喜欢猫", {{0, 0}, {2, 1}, {3, 1}}},
                                       {" a b ", "c", {}}};
  write_text_pairs(path(), pairs);
  std::ifstream stream(path(), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}),
            "I love cats\t我喜欢猫\t0-0 2-1 3-1\n a b \tc\n");
  EXPECT_EQ(read_text_pairs(path()).pairs, pairs);
}

TEST_F(TextPairs, WritesNothingThatItCouldNotRead) {
  for (const char* text : {"a\tb", "a\nb", "a\r", "\xE7\x8C"}) {
    EXPECT_THROWS_WITH(write_text_pairs(path(), {{"a", "b", {}}, {"c", text, {}}}), ArgumentError,
                       "[text_pairs] expected UTF-8 without tabs and line ends; got other bytes in pair 1");
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(TextPairs, LinksSpansAndFindsThemAgain) {
  TextPair pair{"March 3", "03-03", {}};
  link(pair, {0, 5}, {0, 2});
  link(pair, {6, 7}, {3, 5});
  EXPECT_EQ(
      pair.alignment,
      (Links{
          {0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {6, 3}, {6, 4}}));
  EXPECT_THAT(source_spans(pair), ElementsAre(CharacterSpan{0, 5}, CharacterSpan{0, 5}, CharacterSpan{},
                                              CharacterSpan{6, 7}, CharacterSpan{6, 7}));
}

}  // namespace
}  // namespace gaze::models
