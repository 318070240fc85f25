// Dates as people write them, English and Chinese. Includes no torch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/data/text_pairs.h"

namespace gaze::models {

// A day of the Gregorian calendar.
struct Date {
  int64_t year = 1970, month = 1, day = 1;  // months and days from 1
};

bool operator==(const Date& a, const Date& b);

// Days since 1970-01-01, and back; the year is in 1 .. 9999.
int64_t day_number(const Date& date);
Date date_of(int64_t day_number);

// 0 is Sunday.
int64_t weekday(const Date& date);

// One way to write a date. The pattern is strftime's: %Y %m %d in digits, %-m %-d without a leading zero, %B
// %b month names, %A %a weekdays; and beside these %o the day as "3rd", %K the Chinese weekday "星期日", %OY
// %Om %Od Chinese numerals "二〇二四", "十二", "三十一".
struct DateForm {
  const char* pattern;
  bool either_order = false;  // day and month could be taken for each other: only where they cannot,
                              // because the day is above 12 or they are equal
};

// "%-d %B %Y", "%B %-d, %Y" and so on; new ones are added at the end.
const std::vector<DateForm>& date_forms();

// Whether the form says the date without doubt.
bool suits(const DateForm& form, const Date& date);

// A date written out, and where its fields are.
struct WrittenDate {
  std::string text;
  CharacterSpan year, month, day;
};

// Throws ArgumentError for a conversion that DateForm does not know.
WrittenDate write_date(const Date& date, const DateForm& form);

// Source: the date in this form. Target: ISO 8601, "2024-03-03". Each character of the target's year, month
// and day is linked with all characters of the source's; hyphens, weekdays and separators have no link.
// Throws ArgumentError where the form does not suit.
TextPair date_pair(const Date& date, const DateForm& form);

}  // namespace gaze::models
