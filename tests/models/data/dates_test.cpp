#include "models/data/dates.h"

#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <set>

#include "modules/core/error.h"
#include "modules/core/utf8.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

std::string part(const std::string& text, const CharacterSpan& span) {
  const std::vector<std::string_view> all = characters(text);
  std::string result;
  for (int64_t i = span.begin; i < span.end; ++i) result += all.at(static_cast<size_t>(i));
  return result;
}

// Every day of 1583 to 2500 against the C library's calendar.
TEST(Dates, AgreeWithTheCLibrary) {
  for (int64_t day = -141349; day <= 193943; ++day) {
    const std::time_t seconds = static_cast<std::time_t>(day) * 86400;
    std::tm expected{};
    ASSERT_NE(::gmtime_r(&seconds, &expected), nullptr);
    const Date date = date_of(day);
    ASSERT_EQ(date, (Date{expected.tm_year + 1900, expected.tm_mon + 1, expected.tm_mday})) << day;
    ASSERT_EQ(day_number(date), day);
    ASSERT_EQ(weekday(date), expected.tm_wday) << day;
  }
}

TEST(Dates, AreWrittenInManyForms) {
  const std::vector<std::string> expected = {"3 March 2024",
                                             "March 3, 2024",
                                             "Mar 3rd, 2024",
                                             "03 Mar 2024",
                                             "the 3rd of March 2024",
                                             "Sunday, March 3, 2024",
                                             "Sun, 3 Mar 2024",
                                             "3-Mar-2024",
                                             "2024 March 3",
                                             "03/03/2024",
                                             "03/03/2024",
                                             "2024/3/3",
                                             "2024.03.03",
                                             "20240303",
                                             "2024年3月3日",
                                             "2024年03月03日",
                                             "2024年3月3号",
                                             "2024年3月3日星期日",
                                             "二〇二四年三月三日",
                                             "星期日，二〇二四年三月三日"};
  std::vector<std::string> written;
  for (const DateForm& form : date_forms()) written.push_back(write_date({2024, 3, 3}, form).text);
  EXPECT_EQ(written, expected);
}

TEST(Dates, NumbersAreWrittenAsPeopleReadThem) {
  const auto ordinal = [](int64_t day) { return write_date({2023, 10, day}, {"%o"}).text; };
  EXPECT_EQ(ordinal(1) + ordinal(2) + ordinal(3) + ordinal(4), "1st2nd3rd4th");
  EXPECT_EQ(ordinal(10) + ordinal(11) + ordinal(12) + ordinal(13), "10th11th12th13th");
  EXPECT_EQ(ordinal(20) + ordinal(21) + ordinal(22) + ordinal(23), "20th21st22nd23rd");
  EXPECT_EQ(ordinal(30) + ordinal(31), "30th31st");
  const auto chinese = [](const Date& date) { return write_date(date, {"%OY %Om %Od"}).text; };
  EXPECT_EQ(chinese({1999, 10, 10}), "一九九九 十 十");
  EXPECT_EQ(chinese({2005, 11, 20}), "二〇〇五 十一 二十");
  EXPECT_EQ(chinese({2010, 12, 31}), "二〇一〇 十二 三十一");
  EXPECT_EQ(chinese({876, 9, 19}), "八七六 九 十九");
}

// What stands where the links point, for a date whose fields all differ.
TEST(Dates, EachOutputCharacterIsLinkedWithItsField) {
  const std::set<std::string> years = {"2024", "二〇二四"}, months = {"November", "Nov", "11", "十一"},
                              days = {"23", "23rd", "二十三"};
  for (const DateForm& form : date_forms()) {
    const TextPair pair = date_pair({2024, 11, 23}, form);
    SCOPED_TRACE(pair.source);
    ASSERT_EQ(pair.target, "2024-11-23");
    const std::vector<CharacterSpan> spans = source_spans(pair);
    ASSERT_EQ(spans.size(), 10U);
    std::map<int64_t, std::set<int64_t>> sources;
    for (const AlignmentLink& link : pair.alignment) sources[link.target].insert(link.source);
    for (int64_t t = 0; t < 10; ++t) {
      const CharacterSpan& span = spans[static_cast<size_t>(t)];
      if (t == 4 || t == 7) {
        EXPECT_TRUE(span.empty());
        continue;
      }
      EXPECT_EQ((t < 4 ? years : t < 7 ? months : days).count(part(pair.source, span)), 1U) << t;
      EXPECT_EQ(static_cast<int64_t>(sources[t].size()), span.end - span.begin) << "no gaps";
    }
  }
}

TEST(Dates, SpansCountCharactersNotBytes) {
  const TextPair pair = date_pair({2024, 3, 3}, {"%OY年%Om月%Od日"});
  EXPECT_EQ(pair.source, "二〇二四年三月三日");
  const std::vector<CharacterSpan> spans = source_spans(pair);
  EXPECT_EQ(spans[0], (CharacterSpan{0, 4}));
  EXPECT_EQ(spans[5], (CharacterSpan{5, 6}));
  EXPECT_EQ(spans[9], (CharacterSpan{7, 8}));
}

TEST(Dates, SlashesStandOnlyWhereDayAndMonthCannotBeTakenForEachOther) {
  const DateForm slashes{"%d/%m/%Y", true};
  EXPECT_TRUE(suits(slashes, {2024, 3, 13}));
  EXPECT_TRUE(suits(slashes, {2024, 3, 3}));
  EXPECT_FALSE(suits(slashes, {2024, 3, 12}));
  EXPECT_TRUE(suits({"%Y/%m/%d"}, {2024, 3, 12}));
  EXPECT_THROWS_WITH(date_pair({2024, 3, 12}, slashes), ArgumentError,
                     "[dates] expected a date that %d/%m/%Y says without doubt; got 2024-03-12");
  EXPECT_THROWS_WITH(write_date({2024, 3, 12}, {"%q"}), ArgumentError,
                     "[dates] expected a known conversion; got %q");
}

}  // namespace
}  // namespace gaze::models
