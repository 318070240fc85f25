#include "models/metrics/cider_d.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(CiderD, AgreesWithTheOriginal) {
  std::ifstream file(GAZE_SOURCE_DIR "/tests/golden/metrics/cider.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  std::vector<CaptionPair> pairs;
  for (const auto& pair : golden["pairs"]) pairs.push_back({pair["caption"], pair["references"]});
  ASSERT_EQ(pairs.size(), 24U);
  const CiderD result = cider_d(pairs);
  double largest = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    largest = std::max(largest, std::fabs(result.scores[i] - golden["scores"][i].get<double>()));
  }
  EXPECT_LE(largest, 1e-9);
  EXPECT_NEAR(result.mean, golden["mean"].get<double>(), 1e-9);
  EXPECT_GT(result.mean, 1);
}

// Two pictures, one reference each, no word shared: every df is 1, so every weight is count * ln 2, which
// cancels out of the cosine. Caption "a b" of reference "a b c": n = 1: 2 / (sqrt 2 sqrt 3); n = 2: 1 / (1
// sqrt 2); longer: 0. Lengths in bigrams 1 and 2: exp(-1 / 72).
TEST(CiderD, MatchesAWorkedExample) {
  const CiderD result = cider_d({{"a b", {"a b c"}}, {"x y z w", {"x y z w"}}});
  const double expected = 10 * (2 / std::sqrt(6.0) + 1 / std::sqrt(2.0)) / 4 * std::exp(-1.0 / 72);
  EXPECT_NEAR(result.scores[0], expected, 1e-12);
  EXPECT_NEAR(result.scores[1], 10, 1e-12);
  EXPECT_NEAR(result.mean, (expected + 10) / 2, 1e-12);
}

TEST(CiderD, IsZeroForOnePictureAndForAnEmptyCaption) {
  EXPECT_EQ(cider_d({{"a cat", {"a cat"}}}).mean, 0);
  EXPECT_EQ(cider_d({{"", {"a cat"}}, {"a dog", {"a dog"}}}).scores[0], 0);
  EXPECT_EQ(cider_d({}).mean, 0);
}

TEST(CiderD, NeedsReferences) {
  EXPECT_THROWS_WITH((cider_d({{"a", {"a"}}, {"b", {}}})), ArgumentError,
                     "[cider_d] expected references of each picture; got none of picture 1");
}

}  // namespace
}  // namespace gaze::models
