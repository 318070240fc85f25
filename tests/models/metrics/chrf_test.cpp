#include "models/metrics/chrf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(ChrF, AgreesWithSacrebleu) {
  std::ifstream file(GAZE_SOURCE_DIR "/tests/golden/metrics/chrf.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden["sets"].size(), 4U);
  for (const auto& set : golden["sets"]) {
    SCOPED_TRACE(set["name"].get<std::string>());
    std::vector<TranslatedLine> lines;
    for (const auto& line : set["lines"]) lines.push_back({line["translation"], line["references"]});
    const ChrF result = chrf2(lines);
    ASSERT_EQ(result.scores.size(), lines.size());
    double largest = std::fabs(result.corpus - set["corpus"].get<double>());
    for (size_t i = 0; i < lines.size(); ++i)
      largest = std::max(largest, std::fabs(result.scores[i] - set["scores"][i].get<double>()));
    std::printf("%s: largest difference %.1e\n", set["name"].get<std::string>().c_str(), largest);
    EXPECT_LE(largest, 1e-9);
  }
}

// "abc" for "abd": one in three characters differs, "ab" is the one bigram of two that is shared, no trigram
// is. P = R = (2/3 + 1/2 + 0) / 3, and with P = R the score is 100 P.
TEST(ChrF, MatchesAWorkedExample) {
  const ChrF result = chrf2({{"a bc", {"abd"}}});
  EXPECT_NEAR(result.corpus, 100 * (2.0 / 3 + 1.0 / 2) / 3, 1e-12);
  EXPECT_EQ(result.scores, std::vector<double>{result.corpus});
}

// Recall weighs four times as much as precision: "猫" for "猫狗" has P = 1, R = 1/2 (unigrams, the only order
// both have), "猫狗" for "猫" has P = 1/2, R = 1.
TEST(ChrF, WeighsRecallMore) {
  EXPECT_NEAR(chrf2({{"猫", {"猫狗"}}}).corpus, 100 * 5 * 0.5 / (4 + 0.5), 1e-12);
  EXPECT_NEAR(chrf2({{"猫狗", {"猫"}}}).corpus, 100 * 5 * 0.5 / (4 * 0.5 + 1), 1e-12);
}

TEST(ChrF, TakesTheBestReferenceAndLeavesOutEmptyOnes) {
  EXPECT_NEAR(chrf2({{"我喜欢猫", {"", "他有狗", "我喜欢猫"}}}).corpus, 100, 1e-12);
  EXPECT_EQ(chrf2({{"", {"猫"}}}).corpus, 0);
  EXPECT_EQ(chrf2({}).corpus, 0);
}

TEST(ChrF, NeedsReferences) {
  EXPECT_THROWS_WITH((chrf2({{"a", {"a"}}, {"b", {}}})), ArgumentError,
                     "[chrf2] expected a reference of each line; got none of line 1");
  EXPECT_THROWS_WITH((chrf2({{"a", {"", ""}}})), ArgumentError,
                     "[chrf2] expected a reference of each line; got none of line 0");
}

}  // namespace
}  // namespace gaze::models
