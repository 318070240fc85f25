// gaze caption --out: what the files of many pictures' captions hold, and where they may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

#include "tests/support/caption_program.h"

namespace gaze {
namespace {

using nlohmann::json;
using test::ProgramResult;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

constexpr char kHeader[] =
    "image,rank,caption,log_probability,score,finished,words,word_log_probabilities,error";

// RFC 4180 by its grammar, without the reader of the program: every record ends in CR LF.
std::vector<std::vector<std::string>> csv_records(const std::string& text) {
  std::vector<std::vector<std::string>> records(1, {""});
  for (size_t i = 0; i < text.size();) {
    std::string& field = records.back().back();
    if (text[i] == '"') {
      size_t end = i + 1;
      for (; text.compare(end, 1, "\"") != 0 || text.compare(end, 2, "\"\"") == 0; ++end) {
        if (end >= text.size()) throw std::runtime_error("a quote without its end");
        field += text[end];
        if (text[end] == '"') ++end;
      }
      i = end + 1;
    } else {
      const size_t end = std::min(text.find_first_of(",\r\n\"", i), text.size());
      field = text.substr(i, end - i);
      i = end;
    }
    if (text.compare(i, 1, ",") == 0) {
      records.back().emplace_back();
      i += 1;
    } else if (text.compare(i, 2, "\r\n") == 0) {
      records.push_back({""});
      i += 2;
    } else {
      throw std::runtime_error("after a field: neither comma nor CR LF");
    }
  }
  records.pop_back();
  return records;
}

class CaptionMany : public test::CaptionProgramTest {
 protected:
  // What an undisturbed run writes.
  std::string straight(const std::string& extension, const Words& arguments) const {
    const std::string out = path("straight" + extension);
    Words all = arguments;
    all.insert(all.end(), {"--out", out});
    const ProgramResult result = caption(all);
    EXPECT_THAT(result.status, ::testing::AnyOf(0, 3)) << result.err;
    return text(out);
  }
};

TEST_F(CaptionMany, jsonl_has_each_picture_once_in_its_order) {
  const std::string photos = add_folder("photos", 11);
  Words expected;
  for (const char* name : {"00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10"})
    expected.push_back(photos + "/" + name + ".png");
  EXPECT_EQ(captioned(straight(".jsonl", {photos, "--batch", "4"})), expected);
}

TEST_F(CaptionMany, csv_says_what_jsonl_says_whatever_the_names) {
  const Words names = {" spaces .png",   "\"quoted\".png", "=1+2.png",  "a\"b\".png",     "a,b.png",
                       "b\303\244r.png", "cr\r.png",       "plain.png", "two\nlines.png", "熊猫.png"};
  int64_t colour = 0;
  for (const std::string& name : names) add_picture("photos/" + name, ++colour);
  const Words arguments = {path("photos"), "--best", "2"};
  const auto records = csv_records(straight(".csv", arguments));
  const std::vector<json> lines = json_lines(straight(".jsonl", arguments));
  ASSERT_EQ(lines.size(), names.size());
  ASSERT_EQ(records.size(), 1 + 2 * names.size());
  std::string header;
  for (const std::string& field : records[0]) header += (header.empty() ? "" : ",") + field;
  EXPECT_EQ(header, kHeader);
  for (size_t i = 0; i < 2 * names.size(); ++i) {
    const auto& record = records[1 + i];
    const json& found = lines[i / 2]["captions"][i % 2];
    ASSERT_EQ(record.size(), 9U);
    EXPECT_EQ(record[0], path("photos/" + names[i / 2]));
    EXPECT_EQ(lines[i / 2]["image"], record[0]);
    EXPECT_EQ(record[1], std::to_string(i % 2 + 1));
    EXPECT_EQ(record[2], found["text"]);
    EXPECT_EQ(std::stod(record[3]), found["log_probability"]);
    EXPECT_EQ(record[8], "");
  }
}

TEST_F(CaptionMany, csv_has_a_record_with_the_error_of_a_bad_picture) {
  add_folder("photos", 1);
  const std::string bad = add_file("photos/x,\"y\".jpg", "no picture");
  const auto records = csv_records(straight(".csv", {path("photos")}));
  ASSERT_EQ(records.size(), 3U);
  ASSERT_EQ(records[2].size(), 9U);
  EXPECT_EQ(records[2][0], bad);
  EXPECT_THAT(records[2][8], StartsWith(bad + ": "));
  for (size_t i = 1; i < 8; ++i) EXPECT_EQ(records[2][i], "");
}

TEST_F(CaptionMany, out_that_is_no_file_is_refused) {
  const std::string photos = add_folder("photos", 1);
  fs::create_directories(path("folder.csv"));
  const ProgramResult folder = caption({photos, "--out", path("folder.csv")});
  EXPECT_EQ(folder.status, 1);
  EXPECT_THAT(folder.err, HasSubstr("folder.csv: is there already and is no file"));
  add_file("file", "");
  const ProgramResult below = caption({photos, "--out", path("file/x.csv")});
  EXPECT_EQ(below.status, 1);
  EXPECT_THAT(below.err, HasSubstr("file/x.csv: cannot be written"));
}

TEST_F(CaptionMany, out_makes_its_folders) {
  const std::string photos = add_folder("photos", 1);
  EXPECT_EQ(caption({photos, "--out", path("new/folder/x.csv")}).status, 0);
  EXPECT_THAT(text(path("new/folder/x.csv")), StartsWith(kHeader));
}

TEST_F(CaptionMany, out_needs_a_format) {
  const std::string photos = add_folder("photos", 1);
  const ProgramResult unknown = caption({photos, "--out", path("x.txt")});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("expected a name that ends in .jsonl or .csv, or --format with it"));
  EXPECT_FALSE(fs::exists(path("x.txt")));
  EXPECT_EQ(caption({photos, "--out", path("x.csv"), "--format", "text"}).status, 2);
  EXPECT_EQ(caption({photos, "--overwrite"}).status, 2);
  EXPECT_EQ(caption({photos, "--out", path("x.txt"), "--format", "csv"}).status, 0);
  EXPECT_THAT(text(path("x.txt")), StartsWith(kHeader));
}

TEST_F(CaptionMany, out_that_may_not_be_written_is_refused) {
  constexpr unsigned kNobody = 65534;
  const std::string photos = add_folder("photos", 1);
  fs::create_directories(path("closed"));
  ::chmod(path("closed").c_str(), 0555);
  for (const std::string& folder : {path(""), fs::path(model()).parent_path().string()})
    ::chmod(folder.c_str(), 0755);
  const unsigned user = ::geteuid() == 0 ? kNobody : 0;
  if (test::run_program({GAZE_PROGRAM, "--version"}, {user}).status != 0)
    GTEST_SKIP() << "no other user may run it";
  const ProgramResult result = test::run_program(command({photos, "--out", path("closed/x.csv")}), {user});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("closed/x.csv: cannot be written (Permission denied)"));
}

}  // namespace
}  // namespace gaze
