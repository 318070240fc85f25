#include "models/data/message_cleaning.h"

#include <gtest/gtest.h>

namespace gaze::models {
namespace {

std::string cleaned(const std::string& english, const std::string& chinese) {
  const std::optional<TextPair> pair = clean_message(english, chinese);
  return pair ? pair->source + " | " + pair->target : "";
}

TEST(MessageCleaning, PlainSentencesStayAsTheyAre) {
  EXPECT_EQ(cleaned("I love cats.", "我喜欢猫。"), "I love cats. | 我喜欢猫。");
  EXPECT_EQ(cleaned("Can’t open that picture!", "打不开那个图片啊！"),
            "Can’t open that picture! | 打不开那个图片啊！");
  EXPECT_EQ(cleaned("Streets & Alleys", "大街 & 小巷"), "Streets & Alleys | 大街 & 小巷");
  EXPECT_EQ(cleaned("Move it; then stop.", "移动；停。"), "Move it; then stop. | 移动；停。");
}

TEST(MessageCleaning, AcceleratorsAreTakenOut) {
  EXPECT_EQ(cleaned("_Help", "帮助(_H)"), "Help | 帮助");
  EXPECT_EQ(cleaned("Save _As…", "另存为(_A)…"), "Save As… | 另存为…");
  EXPECT_EQ(cleaned("&Open", "打开(&O)"), "Open | 打开");
  EXPECT_EQ(cleaned("C_lear", "清除(_L)"), "Clear | 清除");
}

TEST(MessageCleaning, WhiteSpaceAndFullWidthLettersAreMadePlain) {
  EXPECT_EQ(cleaned("  a   cat ", " 一只  猫 "), "a cat | 一只猫");
  EXPECT_EQ(cleaned("The letter C.", "字母Ｃ。"), "The letter C. | 字母C。");
  EXPECT_EQ(cleaned("Deal 10 cards", "发 １０ 张\u3000牌"), "Deal 10 cards | 发 10 张牌");
}

TEST(MessageCleaning, WhatIsNoPlainSentenceIsLeftOut) {
  for (const char* english : {"%d cats", "Move ~a here", "{0} cats", "[number] cats", "<b>Cats</b>",
                              "a &amp; b", "see http://cats", "cat@home", "cat\ndog", "cat\tdog", "cat;dog;",
                              "cat;dog", "big_black_cat", "cat_", "a = b", "cats | dogs", "\\cat"}) {
    EXPECT_EQ(cleaned(english, "猫猫猫猫"), "") << english;
  }
  EXPECT_EQ(cleaned("cats", "%d 猫"), "");
  EXPECT_EQ(cleaned("cats", "猫\n狗"), "");
  EXPECT_EQ(cleaned("GNOME", "GNOME"), "") << "not translated";
  EXPECT_EQ(cleaned("017", "猫"), "") << "no English";
  EXPECT_EQ(cleaned("cat 猫", "猫"), "") << "Chinese in the English";
  EXPECT_EQ(cleaned("", ""), "");
}

TEST(MessageCleaning, LongTextsAndPartialTranslationsAreLeftOut) {
  EXPECT_NE(cleaned(std::string(120, 'a'), "猫"), "");
  EXPECT_EQ(cleaned(std::string(121, 'a'), "猫"), "");
  std::string longest;
  for (int i = 0; i < 60; ++i) longest += "猫";
  EXPECT_NE(cleaned("cats", longest), "");
  EXPECT_EQ(cleaned("cats", longest + "猫"), "");
  EXPECT_NE(cleaned("one two three four five six", "美分"), "");
  EXPECT_EQ(cleaned("one two three four five six seven", "美分"), "");
}

}  // namespace
}  // namespace gaze::models
