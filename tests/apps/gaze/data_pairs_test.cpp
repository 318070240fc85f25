// gaze data pairs as a person runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/data/date_pairs.h"
#include "models/data/parallel_texts.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class DataPairsProgram : public ::testing::Test {
 protected:
  test::ProgramResult pairs(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {GAZE_PROGRAM, "data", "pairs", "--out", out()});
    return test::run_program(arguments);
  }
  std::string out() const { return (folder_.path() / "new" / "pairs.tsv").string(); }

  test::TemporaryFolder folder_;
};

TEST_F(DataPairsProgram, WritesTheDatesOfItsSeed) {
  const test::ProgramResult result =
      pairs({"--kind", "dates", "--split", "test", "--count", "300", "--seed", "9"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, out() + ": 300 pairs\n");
  models::DatePairOptions options;
  options.split = models::Split::test;
  options.count = 300;
  options.seed = 9;
  const models::TextPairFile file = models::read_text_pairs(out());
  EXPECT_EQ(file.pairs, models::date_pairs(options));
  EXPECT_EQ(file.skipped + file.without_alignment, 0);
}

TEST_F(DataPairsProgram, WritesWhatThePackagesCarry) {
  if (!fs::exists("/usr/share/locale/zh_CN/LC_MESSAGES/aisleriot.mo") ||
      !fs::exists("/usr/share/locale/zh_CN/LC_MESSAGES/tuxpaint.mo") || !fs::exists(models::stamps_folder()))
    GTEST_SKIP() << "tuxpaint-stamps-default, tuxpaint-data or aisleriot is not installed";
  const test::ProgramResult all = pairs({"--kind", "english-chinese", "--json"});
  ASSERT_EQ(all.status, 0) << all.err;
  EXPECT_THAT(all.err,
              HasSubstr("tuxpaint-stamps-default (GPL-2), tuxpaint-data (GPL-2+), aisleriot (GPL-3+)"));
  const models::TextPairFile file = models::read_text_pairs(out());
  EXPECT_EQ(file.pairs, models::english_chinese_pairs({}));
  EXPECT_EQ(file.skipped + file.without_alignment, 0);
  EXPECT_EQ(nlohmann::json::parse(all.out), nlohmann::json({{"file", out()}, {"pairs", file.pairs.size()}}));
  EXPECT_TRUE(std::any_of(file.pairs.begin(), file.pairs.end(), [](const models::TextPair& pair) {
    return pair.source == "I love cats" && pair.target == "我喜欢猫";
  }));

  const test::ProgramResult some = pairs({"--kind", "english-chinese", "--count", "20"});
  EXPECT_EQ(some.out, out() + ": 20 pairs\n");
  const std::vector<models::TextPair> first(file.pairs.begin(), file.pairs.begin() + 20);
  EXPECT_EQ(models::read_text_pairs(out()).pairs, first);
  const test::ProgramResult more = pairs({"--kind", "english-chinese", "--count", "1000000"});
  EXPECT_EQ(more.status, 0);
  EXPECT_THAT(more.err, HasSubstr("pairs, not 1000000"));
}

TEST_F(DataPairsProgram, TellsWrongUseFromFailure) {
  EXPECT_EQ(pairs({}).status, 2);
  EXPECT_EQ(pairs({"--kind", "poems"}).status, 2);
  EXPECT_EQ(pairs({"--kind", "dates", "--count", "0"}).status, 2);
  EXPECT_EQ(pairs({"--kind", "dates", "--split", "dev"}).status, 2);
  const test::ProgramResult missing = pairs({"--kind", "english-chinese", "--packages", "/nowhere"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr("install the package tuxpaint-stamps-default"));
  EXPECT_FALSE(fs::exists(out()));
}

}  // namespace
}  // namespace gaze
