#include "models/data/date_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/data/split_by_hash.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

std::vector<TextPair> pairs_of(Split split, uint64_t seed, int64_t count) {
  DatePairOptions options;
  options.split = split;
  options.seed = seed;
  options.count = count;
  return date_pairs(options);
}

// From a Python loop over the published SplitMix64 constants, keyed as random.h says.
TEST(DatePairs, AreTheSameOnEveryMachine) {
  const auto texts = [](Split split, uint64_t seed) {
    std::string all;
    for (const TextPair& pair : pairs_of(split, seed, 3)) all += pair.source + " = " + pair.target + "\n";
    return all;
  };
  EXPECT_EQ(texts(Split::train, 1),
            "1962年10月1日星期一 = 1962-10-01\n2071 February 8 = 2071-02-08\n2078年2月13日 = 2078-02-13\n");
  EXPECT_EQ(texts(Split::val, 1),
            "1921年3月14日星期一 = 1921-03-14\nSep 8th, 1923 = 1923-09-08\n1962年6月4号 = 1962-06-04\n");
  EXPECT_EQ(texts(Split::test, 7),
            "01/31/2044 = 2044-01-31\nthe 12th of April 2096 = 2096-04-12\n20-Aug-1993 = 1993-08-20\n");
}

TEST(DatePairs, APairDependsOnItsPlaceAlone) {
  const std::vector<TextPair> many = pairs_of(Split::train, 3, 200), few = pairs_of(Split::train, 3, 20);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_FALSE(pairs_of(Split::train, 4, 20) == few);
  EXPECT_TRUE(pairs_of(Split::train, 3, 0).empty());
}

// Two forms may write a date alike, 03/03/2024 and 13 May 2024; then it is in one split as well.
TEST(DatePairs, SplitsShareNoDateInTheSameForm) {
  std::map<std::string, std::set<Split>> splits;
  for (const Split split : {Split::train, Split::val, Split::test}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      for (const TextPair& pair : pairs_of(split, seed, 20000)) splits[pair.source].insert(split);
    }
  }
  int64_t shared = 0;
  for (const auto& [source, found] : splits) {
    if (found.size() > 1) ++shared;
  }
  EXPECT_GT(splits.size(), 100000U);
  EXPECT_EQ(shared, 0);
}

TEST(DatePairs, ATenthIsHeldOutForEachUse) {
  std::map<Split, double> share;
  for (int64_t day = 0; day < 10000; ++day)
    share[split_by_hash(write_date(date_of(day), date_forms()[static_cast<size_t>(day % 9)]).text)] += 1e-4;
  EXPECT_NEAR(share[Split::test], 0.1, 0.012);  // four standard deviations
  EXPECT_NEAR(share[Split::val], 0.1, 0.012);
}

TEST(DatePairs, EveryFormAndYearComesUp) {
  std::set<std::string> years;
  int64_t chinese = 0, weekdays = 0, ordinals = 0, slashes = 0;
  const std::vector<TextPair> pairs = pairs_of(Split::train, 1, 10000);
  for (const TextPair& pair : pairs) {
    years.insert(pair.target.substr(0, 4));
    chinese += pair.source.find("月") != std::string::npos;
    weekdays += pair.source.find("day") != std::string::npos;
    ordinals += pair.source.find("th") == pair.source.find_first_of("0123456789") + 2;
    slashes += std::count(pair.source.begin(), pair.source.end(), '/') == 2;
  }
  EXPECT_EQ(years.size(), 200U);
  EXPECT_EQ(*years.begin(), "1900");
  EXPECT_EQ(*years.rbegin(), "2099");
  EXPECT_GT(chinese, 2000);  // 6 of 20 forms
  EXPECT_GT(weekdays, 300);  // 1 of 20
  EXPECT_GT(ordinals, 200);  // 18 of 31 days of 1 of 20
  EXPECT_GT(slashes, 700);
}

TEST(DatePairs, WrongOptionsAreErrors) {
  DatePairOptions options;
  options.count = -1;
  EXPECT_THROWS_WITH(date_pairs(options), ArgumentError,
                     "[date_pairs] expected count of 0 or more; got count -1");
  options.count = 1;
  options.first_year = 2000;
  options.last_year = 1999;
  EXPECT_THROWS_WITH(date_pairs(options), ArgumentError,
                     "[date_pairs] expected years within 1..9999, first to last; got 2000..1999");
  options.last_year = 10000;
  EXPECT_THROWS_WITH(date_pairs(options), ArgumentError,
                     "[date_pairs] expected years within 1..9999, first to last; got 2000..10000");
}

}  // namespace
}  // namespace gaze::models
