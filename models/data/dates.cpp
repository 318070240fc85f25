#include "models/data/dates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "modules/core/error.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

constexpr std::array<const char*, 12> kMonths = {"January",   "February", "March",    "April",
                                                 "May",       "June",     "July",     "August",
                                                 "September", "October",  "November", "December"};
constexpr std::array<const char*, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                  "Thursday", "Friday", "Saturday"};
constexpr std::array<const char*, 7> kChineseWeekdays = {"日", "一", "二", "三", "四", "五", "六"};
constexpr std::array<const char*, 10> kChineseDigits = {"〇", "一", "二", "三", "四",
                                                        "五", "六", "七", "八", "九"};
constexpr size_t kAbbreviation = 3;  // letters

std::string name_of(const char* const* names, int64_t index, size_t letters = std::string::npos) {
  return std::string(names[index]).substr(0, letters);
}

std::string ordinal(int64_t day) {
  const bool teen = day / 10 == 1;
  const char* const ending = teen            ? "th"
                             : day % 10 == 1 ? "st"
                             : day % 10 == 2 ? "nd"
                             : day % 10 == 3 ? "rd"
                                             : "th";
  return fmt::format("{}{}", day, ending);
}

// Digit by digit, as years are read.
std::string chinese_digits(int64_t number) {
  std::string text;
  for (const char digit : std::to_string(number)) text += kChineseDigits.at(static_cast<size_t>(digit - '0'));
  return text;
}

// 1 .. 99 as a number: "三", "十", "二十一".
std::string chinese_number(int64_t number) {
  const int64_t tens = number / 10, ones = number % 10;
  std::string text;
  if (tens > 1) text += kChineseDigits.at(static_cast<size_t>(tens));
  if (tens > 0) text += "十";
  if (ones > 0) text += kChineseDigits.at(static_cast<size_t>(ones));
  return text;
}

enum class Field { none, year, month, day };

struct Piece {
  std::string text;
  Field field = Field::none;
};

// What a conversion of the pattern, without its '%', stands for.
Piece piece_of(std::string_view conversion, const Date& date) {
  if (conversion == "Y") return {fmt::format("{:04}", date.year), Field::year};
  if (conversion == "m") return {fmt::format("{:02}", date.month), Field::month};
  if (conversion == "d") return {fmt::format("{:02}", date.day), Field::day};
  if (conversion == "-m") return {std::to_string(date.month), Field::month};
  if (conversion == "-d") return {std::to_string(date.day), Field::day};
  if (conversion == "o") return {ordinal(date.day), Field::day};
  if (conversion == "B") return {name_of(kMonths.data(), date.month - 1), Field::month};
  if (conversion == "b") return {name_of(kMonths.data(), date.month - 1, kAbbreviation), Field::month};
  if (conversion == "A") return {name_of(kWeekdays.data(), weekday(date))};
  if (conversion == "a") return {name_of(kWeekdays.data(), weekday(date), kAbbreviation)};
  if (conversion == "K") return {"星期" + name_of(kChineseWeekdays.data(), weekday(date))};
  if (conversion == "OY") return {chinese_digits(date.year), Field::year};
  if (conversion == "Om") return {chinese_number(date.month), Field::month};
  if (conversion == "Od") return {chinese_number(date.day), Field::day};
  throw ArgumentError(fmt::format("[dates] expected a known conversion; got %{}", conversion));
}

}  // namespace

bool operator==(const Date& a, const Date& b) {
  return std::tie(a.year, a.month, a.day) == std::tie(b.year, b.month, b.day);
}

// Years begin in March, so that the leap day is the last of them; 400 years have 146097 days.
int64_t day_number(const Date& date) {
  const int64_t year = date.month > 2 ? date.year : date.year - 1;
  const int64_t era = year / 400, of_era = year % 400;
  const int64_t of_year = (153 * ((date.month + 9) % 12) + 2) / 5 + date.day - 1;
  constexpr int64_t kEpoch = 719468;  // 1970-01-01 since 0000-03-01
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - kEpoch;
}

Date date_of(int64_t day_number) {
  int64_t days = day_number;
  int64_t year = 1970 + days / 366;  // a few years off at most
  while (models::day_number({year + 1, 1, 1}) <= days) ++year;
  while (models::day_number({year, 1, 1}) > days) --year;
  int64_t month = 12;
  while (models::day_number({year, month, 1}) > days) --month;
  return {year, month, days - models::day_number({year, month, 1}) + 1};
}

int64_t weekday(const Date& date) {
  constexpr int64_t kEpochWeekday = 4;  // a Thursday
  return ((day_number(date) + kEpochWeekday) % 7 + 7) % 7;
}

const std::vector<DateForm>& date_forms() {
  static const std::vector<DateForm> forms = {
      {"%-d %B %Y"},       {"%B %-d, %Y"},       {"%b %o, %Y"},       {"%d %b %Y"},
      {"the %o of %B %Y"}, {"%A, %B %-d, %Y"},   {"%a, %-d %b %Y"},   {"%-d-%b-%Y"},
      {"%Y %B %-d"},       {"%d/%m/%Y", true},   {"%m/%d/%Y", true},  {"%Y/%-m/%-d"},
      {"%Y.%m.%d"},        {"%Y%m%d"},           {"%Y年%-m月%-d日"},  {"%Y年%m月%d日"},
      {"%Y年%-m月%-d号"},  {"%Y年%-m月%-d日%K"}, {"%OY年%Om月%Od日"}, {"%K，%OY年%Om月%Od日"}};
  return forms;
}

bool suits(const DateForm& form, const Date& date) {
  return !form.either_order || date.day > 12 || date.day == date.month;
}

WrittenDate write_date(const Date& date, const DateForm& form) {
  WrittenDate written;
  std::string_view left = form.pattern;
  while (!left.empty()) {
    const size_t literal = std::min(left.find('%'), left.size());
    written.text += left.substr(0, literal);
    left.remove_prefix(literal);
    if (left.empty()) break;
    const size_t length = left.find_first_of("-O") == 1 ? 2 : 1;
    const Piece piece = piece_of(left.substr(1, length), date);
    left.remove_prefix(1 + length);
    const int64_t begin = character_count(written.text);
    written.text += piece.text;
    const CharacterSpan span{begin, character_count(written.text)};
    if (piece.field == Field::year) written.year = span;
    if (piece.field == Field::month) written.month = span;
    if (piece.field == Field::day) written.day = span;
  }
  return written;
}

TextPair date_pair(const Date& date, const DateForm& form) {
  if (!suits(form, date)) {
    throw ArgumentError(
        fmt::format("[dates] expected a date that {} says without doubt; got {:04}-{:02}-{:02}", form.pattern,
                    date.year, date.month, date.day));
  }
  const WrittenDate source = write_date(date, form), target = write_date(date, {"%Y-%m-%d"});
  TextPair pair{source.text, target.text, {}};
  link(pair, source.year, target.year);
  link(pair, source.month, target.month);
  link(pair, source.day, target.day);
  return pair;
}

}  // namespace gaze::models
