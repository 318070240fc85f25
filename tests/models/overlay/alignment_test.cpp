#include "models/overlay/alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::HasSubstr;

int64_t count_of(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(AlignmentSvg, shows_both_texts_and_a_cell_a_pair) {
  const std::string svg = alignment_svg(
      {{"I", "love", "cats"}, {"我", "喜", "欢", "猫"}, {{1, 0, 0}, {0, 0.5, 0.5}, {0, 1, 0}, {0, 0, 1}}});
  for (const char* token :
       {">I</text>", ">love</text>", ">cats</text>", ">我</text>", ">喜</text>", ">猫</text>"})
    EXPECT_THAT(svg, HasSubstr(token));
  EXPECT_EQ(count_of(svg, "<title>"), 12);
  EXPECT_THAT(svg, HasSubstr("<title>love - 喜: 50.0 %</title>"));
  EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

// Viridis ends at #440154 and #fde725 (Smith and van der Walt 2015).
TEST(AlignmentSvg, colours_are_the_weights) {
  const std::string svg = alignment_svg({{"a", "b"}, {"c"}, {{0, 1}}});
  EXPECT_THAT(svg, HasSubstr("fill=\"#440154\"><title>a - c: 0.0 %"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#fde725\"><title>b - c: 100.0 %"));
}

// Rows run down the page and columns to the right.
TEST(AlignmentSvg, cells_stand_at_their_tokens) {
  AlignmentOptions options;
  options.cell = 20;
  const std::string svg = alignment_svg({{"a", "b"}, {"c", "d"}, {{0.25, 0}, {0, 0}}}, options);
  const auto place = [&](const std::string& title) {
    const size_t end = svg.find("<title>" + title), begin = svg.rfind("<rect", end);
    int x = -1, y = -1;
    EXPECT_EQ(std::sscanf(svg.c_str() + begin, "<rect x=\"%d\" y=\"%d\"", &x, &y), 2);
    return std::pair<int, int>{x, y};
  };
  const auto [x, y] = place("a - c");
  EXPECT_EQ(place("b - c"), std::make_pair(x + 20, y));
  EXPECT_EQ(place("a - d"), std::make_pair(x, y + 20));
}

TEST(AlignmentSvg, markup_in_a_text_is_text) {
  const std::string svg = alignment_svg({{"<b>&\"\x01"}, {"x"}, {{1}}});
  EXPECT_THAT(svg, HasSubstr(">&lt;b&gt;&amp;&quot; </text>"));
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

// Bytes that are not UTF-8, an encoded surrogate (three of them) and U+FFFE have no place in XML.
TEST(AlignmentSvg, what_xml_cannot_hold_is_replaced) {
  const std::string svg = alignment_svg({{"a\xff\xed\xa0\x80\xef\xbf\xbe猫"}, {"x"}, {{1}}});
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_THAT(svg, HasSubstr(">a" + replaced + replaced + replaced + replaced + replaced + "猫</text>"));
}

TEST(AlignmentSvg, nothing_to_show_is_a_picture_too) {
  EXPECT_THAT(alignment_svg({{}, {}, {}}), HasSubstr("</svg>"));
}

TEST(AlignmentSvg, weights_that_do_not_fit_are_refused) {
  EXPECT_THROWS_WITH(alignment_svg({{"a"}, {"b", "c"}, {{1}}}), ArgumentError,
                     "[alignment] expected weights of T=2 target tokens; got 1 rows");
  EXPECT_THROWS_WITH(alignment_svg({{"a"}, {"b"}, {{1, 0}}}), ArgumentError,
                     "[alignment] expected weights of S=1 source tokens; got a row of 2");
  EXPECT_THROWS_WITH(alignment_svg({{"a"}, {"b"}, {{1.5}}}), ArgumentError,
                     "[alignment] expected weights in [0, 1]; got 1.5");
}

}  // namespace
}  // namespace gaze::models
