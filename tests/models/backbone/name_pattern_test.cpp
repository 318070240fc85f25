#include "models/backbone/name_pattern.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

NameList list() {
  NameList list{"insert", "slot of net", {}, {"conv"}};
  for (const char* block : {"layer1.0", "layer1.1", "layer2.0", "layer2.1", "layer2.2", "layer2.10"}) {
    for (const char* leaf : {"conv", "attn"}) list.names.push_back(fmt::format("{}.{}", block, leaf));
  }
  list.names.emplace_back("between.1");
  return list;
}

std::string found(const std::string& pattern) {
  const NameList names = list();
  std::vector<std::string> matching;
  for (const size_t i : match_names(names, pattern)) matching.push_back(names.names[i]);
  return fmt::format("{}", fmt::join(matching, " "));
}

TEST(NamePattern, wildcards) {
  EXPECT_EQ(found("layer1.0.attn"), "layer1.0.attn");
  EXPECT_EQ(found("*1.attn"), "layer1.1.attn layer2.1.attn");
  EXPECT_EQ(found("layer2.?.attn"), "layer2.0.attn layer2.1.attn layer2.2.attn");
  EXPECT_EQ(found("*.*.attn"),
            "layer1.0.attn layer1.1.attn layer2.0.attn layer2.1.attn layer2.2.attn layer2.10.attn");
  EXPECT_EQ(found("**b*e*n*1"), "between.1");
}

TEST(NamePattern, sets_and_ranges) {
  EXPECT_EQ(found("layer[12].0.attn"), "layer1.0.attn layer2.0.attn");
  EXPECT_EQ(found("layer[!1].0.attn"), "layer2.0.attn");
  EXPECT_EQ(found("layer[^1].0.attn"), "layer2.0.attn");
  EXPECT_EQ(found("[a-c]etween.1"), "between.1");
  EXPECT_EQ(found("layer2.[1-2].attn"), "layer2.1.attn layer2.2.attn");
  EXPECT_EQ(found("layer2.[2-12].attn"), "layer2.2.attn layer2.10.attn") << "whole numbers";
  EXPECT_EQ(found("layer2.*[0-1].attn"), "layer2.0.attn layer2.1.attn") << "10 is no 0";
  EXPECT_EQ(found("layer2.1[0-5].attn"), "layer2.10.attn") << "digits behind a digit";
}

TEST(NamePattern, negative_numbers_count_from_the_largest) {
  EXPECT_EQ(found("layer1.-1.attn"), "layer1.1.attn");
  EXPECT_EQ(found("layer*.-1.attn"), "layer1.1.attn layer2.10.attn");
  EXPECT_EQ(found("layer-1.0.attn"), "layer2.0.attn");
  EXPECT_EQ(found("between.-1"), "between.1");
  EXPECT_EQ(found("layer1.[-2--1].attn"), "layer1.0.attn layer1.1.attn");
  EXPECT_EQ(found("layer2.[2--1].attn"), "layer2.2.attn layer2.10.attn");
  EXPECT_EQ(found("layer2.[-1].attn"), "layer2.10.attn");
}

TEST(NamePattern, alternatives) {
  EXPECT_EQ(found("layer1.{0,1}.attn"), "layer1.0.attn layer1.1.attn");
  EXPECT_EQ(found("{layer1.0,layer2.{1,2}}.attn"), "layer1.0.attn layer2.1.attn layer2.2.attn");
  EXPECT_EQ(found("between.1, layer1.0.attn"), "layer1.0.attn between.1") << "in the order of the names";
  EXPECT_EQ(found("layer1.0.attn,layer1.*.attn"), "layer1.0.attn layer1.1.attn") << "each once";
  EXPECT_EQ(found("layer2.[0,2].attn"), "layer2.0.attn layer2.2.attn") << "a comma in brackets parts nothing";
}

TEST(NamePattern, some_words_must_be_spelled_out) {
  EXPECT_EQ(found("layer1.0.*"), "layer1.0.attn");
  EXPECT_EQ(found("layer1.0.*conv"), "layer1.0.conv");
  EXPECT_EQ(found("layer1.0.{attn,conv}"), "layer1.0.conv layer1.0.attn");
  EXPECT_THROWS_WITH(found("layer1.0.c*"), ArgumentError,
                     "[insert] no slot of net matches \"layer1.0.c*\"; nearest of its 13: layer1.0.conv, "
                     "layer1.0.attn, layer1.1.conv");
}

TEST(NamePattern, no_match_names_the_nearest) {
  const auto expect = [](const std::string& pattern, const std::string& alternative,
                         const std::string& nearest) {
    EXPECT_THROWS_WITH(
        found(pattern), ArgumentError,
        "[insert] no slot of net matches \"" + alternative + "\"; nearest of its 13: " + nearest);
  };
  expect("layre2.0.attn", "layre2.0.attn", "layer2.0.attn, layer1.0.attn, layer2.1.attn");
  expect("layer[34].0.attn", "layer[34].0.attn", "layer1.0.attn, layer2.0.attn, layer1.1.attn");
  expect("layer2.[11-99].attn", "layer2.[11-99].attn", "layer2.0.attn, layer2.1.attn, layer2.2.attn");
  expect("layer1.-3.attn", "layer1.-3.attn", "layer1.0.attn, layer1.1.attn, layer2.0.attn");
  expect("layer1.{0,7}.attn", "layer1.7.attn", "layer1.0.attn, layer1.1.attn, layer2.0.attn");
  NameList none{"remove", "filled slot of net", {}, {}};
  EXPECT_THROWS_WITH(match_names(none, "*"), ArgumentError,
                     "[remove] expected a filled slot of net; got none");
}

TEST(NamePattern, what_is_no_pattern_says_why) {
  const auto expect = [](const std::string& pattern, const std::string& problem) {
    EXPECT_THROWS_WITH(
        found(pattern), ArgumentError,
        "[insert] expected a pattern such as \"layer[34].*.attn\"; got \"" + pattern + "\": " + problem);
  };
  expect("", "an empty alternative");
  expect("between.1,", "an empty alternative");
  expect("layer[3.attn", "[ without ]");
  expect("layer[].attn", "nothing between [ and ]");
  expect("layer{1,2.attn", "{ without }");
  expect("layer1}.attn", "} without {");
  expect("layer[4-3]", "a range that runs backwards");
  expect("layer[c-a]", "a range that runs backwards");
  expect("layer1.-99999999999999999999.attn", "a number too large");
  expect("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "more than a thousand alternatives");
  EXPECT_THROWS_WITH(found(std::string(1001, '*')), ArgumentError,
                     "[insert] expected a pattern of at most 1000 letters; got 1001 letters");
}

}  // namespace
}  // namespace gaze::models
