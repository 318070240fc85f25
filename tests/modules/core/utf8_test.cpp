#include "modules/core/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace gaze {
namespace {

using Texts = std::vector<std::string_view>;

TEST(Utf8, splits_text_into_characters) {
  EXPECT_EQ(characters("a\xC3\xA9\xE7\x8C\xAB\xF0\x9F\x90\xB1"),
            (Texts{"a", "\xC3\xA9", "\xE7\x8C\xAB", "\xF0\x9F\x90\xB1"}));
  EXPECT_TRUE(characters("").empty());
  EXPECT_EQ(character_count("I \xE7\x8C\xAB"), 3);
  EXPECT_EQ(character_count(""), 0);
}

TEST(Utf8, a_byte_that_is_none_stands_alone) {
  EXPECT_EQ(characters("a\x80\xE7\x8C"
                       "b"),
            (Texts{"a", "\x80", "\xE7", "\x8C", "b"}));
  EXPECT_EQ(character_count("a\x80\xE7\x8C"
                            "b"),
            5);
  EXPECT_EQ(code_point("\x80"), char32_t{0xFFFD});
}

// The first and the last character of each row of Unicode's table 3-7, and what lies just outside of it.
TEST(Utf8, knows_the_bytes_of_the_standard) {
  for (const char* text :
       {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xE0\xBF\xBF", "\xE1\x80\x80", "\xEC\xBF\xBF",
        "\xED\x80\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80",
        "\xF0\xBF\xBF\xBF", "\xF1\x80\x80\x80", "\xF3\xBF\xBF\xBF", "\xF4\x80\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(valid_utf8_bytes(text), std::string(text).size()) << text;
    EXPECT_EQ(utf8_text(code_point(text)), text);
  }
  for (const char* text :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2\x7F", "\xC2\xC0", "\xE0\x9F\xBF", "\xE0\xC0\x80",
        "\xE1\x80\x7F", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xC2", "\xE7\x8C", "\xF0\x9F\x90"}) {
    EXPECT_EQ(valid_utf8_bytes(std::string("ok") + text), 2U) << text;
  }
  EXPECT_EQ(valid_utf8_bytes(""), 0U);
}

TEST(Utf8, code_points_are_the_numbers_of_the_standard) {
  EXPECT_EQ(code_point("A"), char32_t{0x41});
  EXPECT_EQ(code_point("\xC3\xA9"), char32_t{0xE9});
  EXPECT_EQ(code_point("\xE7\x8C\xAB"), char32_t{0x732B});       // cat
  EXPECT_EQ(code_point("\xF0\x9F\x90\xB1"), char32_t{0x1F431});  // cat face
  EXPECT_EQ(utf8_text(0xD800), "\xEF\xBF\xBD");
  EXPECT_EQ(utf8_text(0x110000), "\xEF\xBF\xBD");
}

// Python 3.11: [c for c in range(0x110000) if chr(c).isspace()]
TEST(Utf8, white_space_is_what_python_splits_at) {
  const std::vector<char32_t> expected = {0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x1C,   0x1D,   0x1E,
                                          0x1F,   0x20,   0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002,
                                          0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
                                          0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  std::vector<char32_t> found;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (is_white_space(c)) found.push_back(c);
  }
  EXPECT_EQ(found, expected);
}

TEST(Utf8, knows_ideographs) {
  for (const char* text : {"猫", "〇", "一", "鿿", "㐀", "𠀀", "豈"})
    EXPECT_TRUE(is_ideograph(code_point(text))) << text;
  for (const char* text : {"a", "é", "，", "。", "あ", "カ", "한", "▁", "Ａ"})
    EXPECT_FALSE(is_ideograph(code_point(text))) << text;
}

}  // namespace
}  // namespace gaze
