// Whom a pronoun looks at: checked against the grammar, which the test knows.
#include <algorithm>
#include <map>
#include <set>

#include "tests/apps/guide/guide_program.h"

namespace gaze {
namespace {

const std::map<std::string, std::string> kPronouns{
    {"king", "he"},  {"boy", "he"},    {"uncle", "he"}, {"baker", "he"}, {"queen", "she"}, {"girl", "she"},
    {"aunt", "she"}, {"nurse", "she"}, {"boat", "it"},  {"lamp", "it"},  {"horse", "it"},  {"stone", "it"}};

struct Sentence {
  std::string pronoun, meant, peak;  // peak has the largest weight
  size_t words = 0;
  double sum = 0;  // of weights
};

struct Outcome {
  double right = 0, looks = 0;
  std::set<std::string> elsewhere;
  Sentence sentence;
};

Sentence sentence_of(const std::string& line) {
  Sentence sentence;
  std::istringstream words(line);
  std::vector<std::string> nouns;
  double weight = 0, largest = -1;
  for (std::string word; words >> word >> weight; ++sentence.words) {
    sentence.sum += weight;
    if (weight > largest) sentence.peak = word;
    largest = std::max(largest, weight);
    if (kPronouns.count(word) != 0) nouns.push_back(word);
    if (sentence.words == 6) sentence.pronoun = word;
  }
  for (const std::string& noun : nouns) {
    if (kPronouns.at(noun) == sentence.pronoun) sentence.meant += noun;
  }
  return sentence;
}

std::vector<Outcome> outcomes(const std::string& printed) {
  std::vector<Outcome> all;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("seed ", 0) != 0) {
      if (!all.empty()) all.back().sentence = sentence_of(line);
      continue;
    }
    Outcome run;
    const std::vector<double> numbers = test::numbers_of(line, line.substr(0, line.find(':') + 1));
    if (numbers.size() == 2) run.right = numbers[0], run.looks = numbers[1];
    std::istringstream nouns(line.substr(line.rfind(':') + 1));
    for (std::string noun; nouns >> noun;) run.elsewhere.insert(noun);
    all.push_back(run);
  }
  return all;
}

TEST(Pronoun, looks_at_its_noun_or_knows_the_one_that_is_left) {
  const std::string out = test::printed_by("pronoun");
  const std::vector<Outcome> all = outcomes(out);
  ASSERT_EQ(all.size(), 6U) << out;
  int good = 0, seen = 0, peaks = 0;
  for (const Outcome& run : all) {
    if (run.right > 0.97 && run.looks > 0.7) ++good;
    std::map<std::string, int> unseen;  // by pronoun
    for (const std::string& noun : run.elsewhere) ++unseen[kPronouns.at(noun)];
    EXPECT_NEAR(run.looks, 1 - run.elsewhere.size() / 12.0, 0.1) << out;  // nouns are drawn alike
    // Of the nouns that it does not see, a pronoun can guess one; it is right of those that it sees.
    int missed = 0;
    for (const auto& [pronoun, nouns] : unseen) missed += nouns - 1;
    EXPECT_NEAR(run.right, 1 - missed / 12.0, 0.1) << out;

    EXPECT_EQ(run.sentence.words, 9U) << out;
    EXPECT_NEAR(run.sentence.sum, 1, 0.05) << out;
    ASSERT_EQ(kPronouns.count(run.sentence.meant), 1U) << out;
    if (run.elsewhere.count(run.sentence.meant) != 0) continue;
    ++seen;
    if (run.sentence.peak == run.sentence.meant) ++peaks;
  }
  EXPECT_GE(good, 4) << out;
  EXPECT_GE(peaks, seen - 1) << out;
}

}  // namespace
}  // namespace gaze
