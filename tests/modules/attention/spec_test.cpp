#include "modules/attention/spec.h"

#include <gtest/gtest.h>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

TEST(Spec, parses_modules_and_options) {
  EXPECT_TRUE(parse_block_specs("").empty());
  EXPECT_TRUE(parse_block_specs(" none ").empty());
  const auto specs = parse_block_specs(" se + cbam( reduction = 8,kernel=3 )+se() ");
  ASSERT_EQ(specs.size(), 3U);
  EXPECT_EQ(specs[0].name, "se");
  EXPECT_TRUE(specs[0].options.empty());
  EXPECT_EQ(specs[1].name, "cbam");
  EXPECT_EQ(specs[1].options.at("reduction"), "8");
  EXPECT_EQ(specs[1].options.at("kernel"), "3");
  EXPECT_TRUE(specs[2].options.empty());
}

TEST(Spec, prints_what_it_parses) {
  EXPECT_EQ(print_block_spec(parse_block_specs("cbam(reduction=8, kernel=3)")[0]),
            "cbam(kernel=3, reduction=8)");
  EXPECT_EQ(print_block_spec(parse_block_specs("se()")[0]), "se");
}

TEST(Spec, syntax_errors_quote_the_whole) {
  const auto expect = [](const std::string& text, const std::string& expected) {
    EXPECT_THROWS_WITH(
        parse_block_specs(text), ArgumentError,
        "[spec] expected " + expected + ", as in \"se+cbam(reduction=16, kernel=7)\"; got \"" + text + "\"");
  };
  expect("se+", "a module on each side of +");
  expect("se++cbam", "a module on each side of +");
  expect("SE", "a module name (lower-case letters, digits, _)");
  expect("(kernel=3)", "a module name (lower-case letters, digits, _)");
  expect("cbam(kernel=3", "one closing parenthesis after the options");
  expect("cbam(kernel=3)x", "one closing parenthesis after the options");
  expect("cbam(kernel=(3)", "no parenthesis within the options");
  expect("cbam(kernel)", "options as name=value");
  expect("cbam(kernel=)", "options as name=value");
  expect("cbam(kernel=3=4)", "options as name=value");
  expect("cbam(kernel=3,)", "options as name=value");
  expect("cbam(kernel=3, kernel=5)", "option \"kernel\" once");
  expect("se+none", "\"none\" on its own");
}

}  // namespace
}  // namespace gaze
