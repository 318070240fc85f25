#include "models/checkpoint/file_reader.h"

#include <functional>

#include "tests/models/checkpoint/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "modules/core/error.h"

namespace gaze::models {
namespace {

class Cursor : public ::testing::Test {
 protected:
  Cursor() { test::write_file(path_, "0123456789\nabc"); }
  void expect_cut(const std::function<void()>& read) {
    EXPECT_THROWS_WITH(read(), FileError,
                       path_.string() + ": ends in the middle of it; copy or download it again");
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a";
};

TEST_F(Cursor, ReadsItsPartOfTheFileAndNoByteMore) {
  const FileReader file(path_);
  ByteCursor cursor(file, 2, 6);
  EXPECT_EQ(cursor.remaining(), 4U);
  EXPECT_EQ(cursor.byte("it"), '2');
  EXPECT_EQ(cursor.text(2, "it"), "34");
  expect_cut([&] { cursor.text(2, "it"); });
  expect_cut([&] { cursor.unsigned_little_endian(2, "it"); });
  expect_cut([&] { cursor.skip(2, "it"); });
  expect_cut([&] { cursor.line("it"); });  // its '\n' lies behind the end
  ByteCursor all(file, 2, 6);
  all.skip(4, "it");
  EXPECT_EQ(all.remaining(), 0U);
  EXPECT_EQ(all.text(0, "it"), "");
  expect_cut([&] { all.byte("it"); });
  expect_cut([&] { all.skip(UINT64_MAX, "it"); });
  expect_cut([&] { all.text(UINT64_MAX, "it"); });
}

TEST_F(Cursor, EndsWithTheFile) {
  const FileReader file(path_);
  ByteCursor beyond(file, 11, 1000);
  EXPECT_EQ(beyond.remaining(), 3U);
  EXPECT_EQ(beyond.text(3, "it"), "abc");
  expect_cut([&] { beyond.byte("it"); });
  EXPECT_EQ(ByteCursor(file, 1000, 2000).remaining(), 0U);
  ByteCursor lines(file, 5, 14);
  EXPECT_EQ(lines.line("it"), "56789");
  EXPECT_EQ(lines.unsigned_little_endian(3, "it"), 0x636261U);
}

TEST_F(Cursor, CrossesItsBuffer) {
  std::string content(200'000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 256);
  test::write_file(path_, content);
  const FileReader file(path_);
  ByteCursor cursor(file, 0, content.size());
  for (const uint64_t bytes : {65'530, 1, 20, 65'536, 3, 68'910}) {
    const uint64_t at = cursor.position();
    EXPECT_EQ(cursor.text(bytes, "it"), content.substr(at, bytes));
  }
  EXPECT_EQ(cursor.remaining(), 0U);
}

TEST_F(Cursor, RangesThatOverflowAreOutside) {
  const FileReader file(path_);
  EXPECT_TRUE(file.holds(0, 14));
  EXPECT_TRUE(file.holds(14, 0));
  EXPECT_FALSE(file.holds(14, 1));
  EXPECT_FALSE(file.holds(1, UINT64_MAX));
  EXPECT_FALSE(file.holds(UINT64_MAX, 2));
  EXPECT_THROWS_WITH(file.read_text(10, UINT64_MAX - 5), FileError,
                     path_.string() + ": is cut short; copy or download it again");
}

}  // namespace
}  // namespace gaze::models
