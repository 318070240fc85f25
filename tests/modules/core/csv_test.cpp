#include "modules/core/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace gaze {
namespace {

using ::testing::ElementsAre;
using Fields = std::vector<std::string>;

std::vector<Fields> records_of(const std::string& text) {
  std::istringstream stream(text);
  CsvReader reader(stream);
  std::vector<Fields> records;
  while (const auto record = reader.next()) records.push_back(*record);
  return records;
}

// The examples of RFC 4180, section 2.
TEST(Csv, quotes_what_the_standard_says) {
  EXPECT_EQ(csv_record({"aaa", "bbb", "ccc"}), "aaa,bbb,ccc\r\n");
  EXPECT_EQ(csv_record({"aaa", "b\r\nbb", "ccc"}), "aaa,\"b\r\nbb\",ccc\r\n");
  EXPECT_EQ(csv_record({"aaa", "b\"bb", "ccc"}), "aaa,\"b\"\"bb\",ccc\r\n");
  EXPECT_EQ(csv_record({"a,b", "", "c\n", " d "}), "\"a,b\",,\"c\n\", d \r\n");
  EXPECT_EQ(csv_record({"熊猫, bär"}), "\"熊猫, bär\"\r\n");
}

TEST(Csv, reads_records_whatever_their_line_breaks) {
  EXPECT_THAT(records_of("a,b\r\nc,d\n"), ElementsAre(Fields{"a", "b"}, Fields{"c", "d"}));
  EXPECT_THAT(records_of("\"a\"\"b\",\"c\r\nd\"\r\n,\r\n\"\",e\rf\n"),
              ElementsAre(Fields{"a\"b", "c\r\nd"}, Fields{"", ""}, Fields{"", "e\rf"}));
  EXPECT_TRUE(records_of("").empty());
}

TEST(Csv, reads_back_what_it_wrote) {
  const std::vector<Fields> all = {{"a", "\"", "\"\"", ",", "\n"}, {"\r\n", "", "x\"y,z\r", "熊", "'"}, {""}};
  std::string text;
  for (const Fields& fields : all) text += csv_record(fields);
  EXPECT_EQ(records_of(text), all);
}

// Cut after any byte, what is whole is read and the torn rest is not.
TEST(Csv, a_torn_last_record_is_none) {
  const Fields first = {"a\"b\nc", "d"}, second = {"\"", "e\r\n\"f\""};
  const std::string whole = csv_record(first), text = whole + csv_record(second);
  for (size_t length = 0; length < text.size(); ++length) {
    std::istringstream stream(text.substr(0, length));
    CsvReader reader(stream);
    size_t bytes = 0;
    while (reader.next()) bytes += reader.bytes().size();
    EXPECT_EQ(bytes, length < whole.size() ? 0 : whole.size()) << length;
  }
  EXPECT_THAT(records_of(text), ElementsAre(first, second));
}

}  // namespace
}  // namespace gaze
