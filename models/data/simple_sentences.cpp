#include "models/data/simple_sentences.h"

#include <array>

#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

struct Word {
  const char *english, *simplified, *traditional;
  const char* third_person = "";  // of a verb; of someone, "s" where the verb takes that form
};

constexpr std::array<Word, 7> kSomeone = {{{"I", "我", "我"},
                                           {"you", "你", "你"},
                                           {"he", "他", "他", "s"},
                                           {"she", "她", "她", "s"},
                                           {"we", "我们", "我們"},
                                           {"they", "他们", "他們"},
                                           {"the children", "孩子们", "孩子們"}}};
constexpr std::array<Word, 4> kVerbs = {{{"love", "喜欢", "喜歡", "loves"},
                                         {"see", "看见", "看見", "sees"},
                                         {"have", "有", "有", "has"},
                                         {"draw", "画", "畫", "draws"}}};
constexpr std::array<Word, 14> kThings = {{{"cats", "猫", "貓"},
                                           {"dogs", "狗", "狗"},
                                           {"birds", "鸟", "鳥"},
                                           {"fish", "鱼", "魚"},
                                           {"horses", "马", "馬"},
                                           {"rabbits", "兔子", "兔子"},
                                           {"pandas", "熊猫", "熊貓"},
                                           {"apples", "苹果", "蘋果"},
                                           {"bananas", "香蕉", "香蕉"},
                                           {"flowers", "花", "花"},
                                           {"trees", "树", "樹"},
                                           {"stars", "星星", "星星"},
                                           {"books", "书", "書"},
                                           {"cars", "汽车", "汽車"}}};

// Adds a word to both texts and links the two.
void add(TextPair& pair, const char* english, const char* chinese) {
  if (!pair.source.empty()) pair.source += ' ';
  const int64_t source = character_count(pair.source), target = character_count(pair.target);
  pair.source += english;
  pair.target += chinese;
  link(pair, {source, character_count(pair.source)}, {target, character_count(pair.target)});
}

}  // namespace

std::vector<TextPair> simple_sentences(const std::string& locale) {
  const auto chinese = [&](const Word& word) {
    return locale == "zh_TW" ? word.traditional : word.simplified;
  };
  std::vector<TextPair> pairs;
  for (const Word& someone : kSomeone) {
    for (const Word& verb : kVerbs) {
      for (const Word& thing : kThings) {
        TextPair pair;
        add(pair, someone.english, chinese(someone));
        add(pair, *someone.third_person == 's' ? verb.third_person : verb.english, chinese(verb));
        add(pair, thing.english, chinese(thing));
        pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

}  // namespace gaze::models
