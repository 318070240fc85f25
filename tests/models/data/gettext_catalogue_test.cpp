#include "models/data/gettext_catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using namespace std::string_literals;

using Strings = std::vector<std::pair<std::string, std::string>>;

std::string number(uint32_t value, bool big_endian) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (big_endian ? 24 - 8 * i : 8 * i));
  return bytes;
}

// A catalogue as the manual lays it out: header, table of originals, table of translations, the strings.
std::string catalogue(const Strings& strings, bool big_endian = false, uint32_t revision = 0) {
  const auto count = static_cast<uint32_t>(strings.size());
  const uint32_t originals = 28, translations = originals + 8 * count;
  std::string tables[2], text;
  uint32_t at = translations + 8 * count;
  for (int side = 0; side < 2; ++side) {
    for (const auto& pair : strings) {
      const std::string& string = side == 0 ? pair.first : pair.second;
      const auto length = static_cast<uint32_t>(string.size());
      tables[side] += number(length, big_endian) + number(at, big_endian);
      text += string + '\0';
      at += length + 1;
    }
  }
  std::string header;
  for (const uint32_t value : {0x950412deU, revision, count, originals, translations, 0U, at})
    header += number(value, big_endian);
  return header + tables[0] + tables[1] + text;
}

const Strings kMessages = {{"", "Content-Type: text/plain; charset=UTF-8\nLanguage: zh_CN\n"},
                           {"One cat.\0%d cats."s, "猫。\0更多的猫。"s},
                           {"shortcut\x04Help", "帮助"},
                           {"untranslated", ""}};

class Gettext : public ::testing::Test {
 protected:
  std::string path() const { return (folder_.path() / "a.mo").string(); }
  std::vector<CatalogueMessage> read(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return read_catalogue(path());
  }

  test::TemporaryFolder folder_;
};

TEST_F(Gettext, ReadsBothByteOrders) {
  for (const bool big_endian : {false, true}) {
    for (const uint32_t revision : {0U, 1U, 0x10000U}) {
      const std::vector<CatalogueMessage> messages = read(catalogue(kMessages, big_endian, revision));
      ASSERT_EQ(messages.size(), 2U);
      EXPECT_EQ(messages[0].text, "One cat.");
      EXPECT_EQ(messages[0].translation, "猫。");
      EXPECT_EQ(messages[0].context, "");
      EXPECT_EQ(messages[1].context, "shortcut");
      EXPECT_EQ(messages[1].text, "Help");
      EXPECT_EQ(messages[1].translation, "帮助");
    }
  }
}

// What `msgunfmt` of GNU gettext 0.21 prints of tuxpaint-data 0.9.28: 264 messages beside the header.
TEST_F(Gettext, ReadsAnInstalledCatalogue) {
  const char* const file = "/usr/share/locale/zh_CN/LC_MESSAGES/tuxpaint.mo";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "tuxpaint-data is not installed";
  const std::vector<CatalogueMessage> messages = read_catalogue(file);
  const auto translation = [&](const std::string& text) {
    const auto found = std::find_if(messages.begin(), messages.end(),
                                    [&](const CatalogueMessage& message) { return message.text == text; });
    return found == messages.end() ? "" : found->translation;
  };
  EXPECT_EQ(messages.size(), 264U);
  EXPECT_EQ(translation("A pentagon has five sides."), "五角形有五条边。");
  EXPECT_EQ(translation("Bye bye!"), "下次见！");
}

TEST_F(Gettext, SaysWhyAFileCannotBeRead) {
  EXPECT_THROWS_WITH(read_catalogue("/nowhere.mo"), FileError, "/nowhere.mo: does not exist; check the path");
  EXPECT_THROWS_WITH(read_catalogue(folder_.path()), FileError,
                     folder_.path().string() + ": is no regular file; give a .mo file");
  EXPECT_THROWS_WITH(read(""), FileError, path() + ": is no gettext catalogue; give a .mo file");
  EXPECT_THROWS_WITH(read(std::string(100, 'x')), FileError,
                     path() + ": is no gettext catalogue; give a .mo file");
  EXPECT_THROWS_WITH(read(catalogue(kMessages, false, 0x20000)), FileError,
                     path() + ": is of revision 2; 0 and 1 are read; make it with msgfmt of gettext");
  EXPECT_THROWS_WITH(
      read(catalogue({{"", "charset=GB2312\n"}, {"a", "\xC3\xA8"}})), FileError,
      path() + ": is in the charset GB2312; convert it with msgconv --to-code=UTF-8 and msgfmt");
  EXPECT_THROWS_WITH(read(catalogue({{"a", "\xC3"}})), FileError,
                     path() + ": is damaged: string 0 is not UTF-8; install its package again");
}

TEST_F(Gettext, ChecksEveryOffsetAndLength) {
  const std::string good = catalogue(kMessages);
  const auto with = [&](size_t at, uint32_t value) {
    return std::string(good).replace(at, 4, number(value, false));
  };
  const auto damaged = [&](const std::string& bytes, const std::string& why) {
    EXPECT_THROWS_WITH(read(bytes), FileError,
                       path() + ": is damaged: " + why + "; install its package again");
  };
  const auto size = static_cast<uint32_t>(good.size());
  damaged(with(8, 0xFFFFFFFF), "the table of original strings lies outside the file");
  damaged(with(12, 0xFFFFFFFF), "the table of original strings lies outside the file");
  damaged(with(16, size - 31), "the table of translated strings lies outside the file");
  damaged(with(28 + 8, 0xFFFFFFFF), "string 1 lies outside the file");
  damaged(with(28 + 12, 0xFFFFFFFF), "string 1 lies outside the file");
  damaged(with(28 + 12, 28 + 64 + 2), "string 1 has no end");  // one byte late: ends in the next string
  damaged(with(28 + 12, size), "string 1 lies outside the file");
}

// Whatever is cut off or overwritten, it ends with a message or with messages, never otherwise.
TEST_F(Gettext, SurvivesDamage) {
  const std::string good = catalogue(kMessages);
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(read(good.substr(0, size)), FileError) << size;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char byte : {'\0', '\x7F', '\xFF'}) {
      std::string bytes = good;
      bytes[at] = byte;
      try {
        EXPECT_LE(read(bytes).size(), 4U);
      } catch (const FileError&) {
      }
    }
  }
}

}  // namespace
}  // namespace gaze::models
