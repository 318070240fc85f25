#include "modules/attention/spec.h"

#include <gtest/gtest.h>

#include "modules/attention/registry.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

std::string remade(const std::string& text, int64_t channels = 64) {
  return make_block(parse_block_specs(text).at(0), SlotPlace{"slot", channels, 1, {}})->spec();
}

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

TEST(Registry, makes_every_module_and_prints_it_back) {
  EXPECT_EQ(block_names(), (std::vector<std::string>{"se", "cbam"}));
  for (const std::string& name : block_names()) EXPECT_EQ(remade(remade(name)), remade(name));
  EXPECT_EQ(remade("se"), "se(reduction=16)");
  EXPECT_EQ(remade("se(hidden=4)"), "se(reduction=16)");
  EXPECT_EQ(remade("se(hidden=8, bias=false, init=identity)"),
            "se(reduction=16, hidden=8, bias=false, init=identity)");
  EXPECT_EQ(remade("cbam"), "cbam(reduction=16, kernel=7)");
  EXPECT_EQ(remade("cbam(hidden=8, kernel=3, bias=false, norm=false, init=identity)"),
            "cbam(reduction=16, hidden=8, kernel=3, bias=false, norm=false, init=identity)");
}

TEST(Registry, init_of_the_spec_wins) {
  const auto with = [](const char* text, Init init) {
    return make_block(parse_block_specs(text)[0], SlotPlace{"slot", 8, 1, {}}, init)->spec();
  };
  EXPECT_EQ(with("se", Init::identity), "se(reduction=16, init=identity)");
  EXPECT_EQ(with("se(init=paper)", Init::identity), "se(reduction=16)");
  EXPECT_EQ(with("se(init=identity)", Init::paper), "se(reduction=16, init=identity)");
}

TEST(Registry, errors_list_what_is_valid) {
  EXPECT_THROWS_WITH(remade("cbm"), ArgumentError,
                     "[spec] unknown module \"cbm\"; did you mean \"cbam\"? known: se, cbam");
  EXPECT_THROWS_WITH(remade("transformer"), ArgumentError,
                     "[spec] unknown module \"transformer\"; known: se, cbam");
  EXPECT_THROWS_WITH(
      remade("se(reductoin=8)"), ArgumentError,
      "[se] unknown option \"reductoin\"; did you mean \"reduction\"? known: init, reduction, hidden, bias");
  EXPECT_THROWS_WITH(remade("cbam(size=8)"), ArgumentError,
                     "[cbam] unknown option \"size\"; known: init, reduction, hidden, kernel, bias, norm");
  EXPECT_THROWS_WITH(remade("se(reduction=many)"), ArgumentError,
                     "[se] expected reduction=an integer; got reduction=many");
  EXPECT_THROWS_WITH(remade("se(reduction=8.5)"), ArgumentError,
                     "[se] expected reduction=an integer; got reduction=8.5");
  EXPECT_THROWS_WITH(remade("se(bias=yes)"), ArgumentError, "[se] expected bias=true or false; got bias=yes");
  EXPECT_THROWS_WITH(remade("se(init=zero)"), ArgumentError,
                     "[se] expected init=paper or identity; got init=zero");
  EXPECT_THROWS_WITH(remade("se(reduction=0)"), ArgumentError,
                     "[se] expected reduction >= 1; got reduction 0");
  EXPECT_THROWS_WITH(remade("se(hidden=-1)"), ArgumentError,
                     "[se] expected hidden >= 1, or 0 for channels / reduction; got hidden -1");
  EXPECT_THROWS_WITH(remade("se", 0), ArgumentError, "[se] expected channels >= 1; got channels 0");
  EXPECT_THROWS_WITH(remade("cbam(kernel=4)"), ArgumentError,
                     "[cbam] expected kernel odd, >= 1; got kernel 4");
}

}  // namespace
}  // namespace gaze
