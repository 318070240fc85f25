#include "models/decoder/constraints.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "models/decoder/phrase_automaton.h"
#include "models/decoder/vocabulary.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

constexpr int64_t kTokens = 10;  // 0..3 are special

// A tokenizer of pieces, those of which "+" stands first go on with a word; "~" belongs to none.
class Pieces : public Tokenizer {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  int64_t size() const override { return static_cast<int64_t>(pieces_.size()); }
  SpecialTokens specials() const override { return {}; }
  std::vector<int64_t> encode(const std::string& /*text*/) const override { return {}; }
  std::string decode(const std::vector<int64_t>& /*ids*/) const override { return ""; }
  std::vector<TokenSpan> words(const std::vector<int64_t>& ids) const override {
    std::vector<TokenSpan> spans;
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::string& piece = pieces_[static_cast<size_t>(ids[i])];
      if (specials().has(ids[i]) || piece == "~") continue;
      if (piece[0] == '+' && !spans.empty() && spans.back().last == i) {
        ++spans.back().last;
      } else {
        spans.push_back({piece, i, i + 1});
      }
    }
    return spans;
  }
  nlohmann::json to_json() const override { return {}; }

 private:
  std::vector<std::string> pieces_;
};

void check(const Constraints& constraints, int64_t max_words = 5) {
  check_constraints(constraints, SpecialTokens(), max_words, kTokens);
}

TEST(Constraints, pieces_that_go_on_with_a_word_are_told_from_words) {
  const Pieces pieces({"", "", "", "", "~", "cat", "+alog", "dog", "+s"});
  EXPECT_EQ(continuations(pieces),
            (std::vector<bool>{false, false, false, false, false, false, true, false, true}));
  EXPECT_EQ(continuations(Vocabulary::from_captions({"a cat"})), std::vector<bool>(6, false));
}

TEST(Constraints, ranges_are_told) {
  Constraints rules;
  rules.min_words = 6;
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected min_words in 0..max_words (5); got min_words 6");
  rules.min_words = -1;
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected min_words in 0..max_words (5); got min_words -1");
  rules = {};
  rules.no_repeat_ngram = -1;
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected no_repeat_ngram >= 0; got no_repeat_ngram -1");
  rules = {};
  rules.repetition_penalty = 0;
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected a repetition_penalty above 0; got repetition_penalty 0");
  rules = {};
  rules.forced.assign(13, {{4}});
  EXPECT_THROWS_WITH(check(rules), ArgumentError, "[search] expected at most 12 forced phrases; got 13");
  rules = {};
  rules.continuations.assign(3, true);
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected continuations of 10 tokens, or none; got 3");
  rules = {};
  rules.prefix.assign(6, 4);
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected a prefix of at most max_words 5 tokens; got 6");
}

TEST(Constraints, phrases_that_are_none_are_told) {
  Constraints rules;
  rules.banned = {{}};
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected banned phrases of one token or more; got an empty one");
  rules.banned = {{4, 10}};
  EXPECT_THROWS_WITH(
      check(rules), ArgumentError,
      "[search] expected banned phrases of tokens in 0..9 that are not special; got banned phrases [4, 10]");
  rules = {};
  rules.forced = {{{4, 2}}};
  EXPECT_THROWS_WITH(
      check(rules), ArgumentError,
      "[search] expected forced phrases of tokens in 0..9 that are not special; got forced phrases [4, 2]");
  rules.forced = {{}};
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected an alternative or more of each forced phrase; got none");
  rules = {};
  rules.prefix = {-1};
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected a prefix of tokens in 0..9 that are not special; got a prefix [-1]");
}

TEST(Constraints, those_that_exclude_each_other_are_told) {
  Constraints rules;
  rules.banned = {{9}, {5, 6}};
  rules.forced = {{{4}}, {{4, 5, 6}, {9}}};
  EXPECT_THROWS_WITH(
      check(rules), ArgumentError,
      "[search] expected forced phrases without banned ones; got forced [4, 5, 6] with banned [5, 6]");
  rules.forced = {{{4}}, {{4, 5, 6}, {7}}};
  check(rules);
  rules.prefix = {5, 6};
  EXPECT_THROWS_WITH(
      check(rules), ArgumentError,
      "[search] expected a prefix without banned phrases; got prefix [5, 6] with banned [5, 6]");
  rules = {};
  rules.forced = {{{4, 5, 6}}, {{6, 7}}, {{8}}};
  check(rules);  // 4 5 6 7 8
  EXPECT_THROWS_WITH(check(rules, 4), ArgumentError,
                     "[search] expected forced phrases that fit max_words 4; got ones that need 5");
  rules.prefix = {9};
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected forced phrases that fit max_words 5; got ones that need 6");
  rules = {};
  for (int64_t token = 4; token < kTokens; ++token) rules.banned.push_back({4, token});
  rules.forced = {{{4}}, {{5}}};
  rules.prefix = {4};
  EXPECT_THROWS_WITH(check(rules), ArgumentError,
                     "[search] expected constraints that a sequence can obey; got forced and banned phrases, "
                     "lengths and a prefix that exclude each other");
}

TEST(Constraints, more_phrases_than_can_be_planned_for_are_told) {
  Constraints rules;
  for (int64_t token = 0; token < 12; ++token) rules.forced.push_back({{1000 + token}});
  for (int64_t token = 4; token < 900; ++token) rules.banned.push_back({token, token, token});
  EXPECT_THROWS_WITH(check_constraints(rules, SpecialTokens(), 50, 2000), ArgumentError,
                     "[search] expected fewer forced and banned phrases together; got 12 forced, 896 banned");
}

TEST(PhraseAutomaton, follows_phrases_that_overlap) {
  Constraints rules;
  rules.forced = {{{4, 5, 4, 6}}, {{5, 4}}};
  const PhraseAutomaton automaton(rules, SpecialTokens(), 20, kTokens);
  PhraseAutomaton::State state = automaton.start();
  const int32_t distances[] = {4, 3, 3, 2, 1, 2, 1, 0};
  size_t t = 0;
  EXPECT_EQ(automaton.distance(state), distances[t++]);
  for (const int64_t token : {4, 4, 5, 4, 5, 4, 6}) {
    state = automaton.after(state, token);
    EXPECT_EQ(automaton.distance(state), distances[t++]) << "token " << t;
  }
}

TEST(PhraseAutomaton, a_forced_word_that_goes_on_is_another_word) {
  Constraints rules;
  rules.forced = {{{4}}};
  rules.continuations.assign(kTokens, false);
  rules.continuations[9] = true;
  const PhraseAutomaton automaton(rules, SpecialTokens(), 20, kTokens);
  const PhraseAutomaton::State cat = automaton.after(automaton.start(), 4);
  EXPECT_EQ(automaton.distance(cat), 0);
  EXPECT_EQ(automaton.distance(automaton.after(cat, 9)), 1);  // catalog
  EXPECT_EQ(automaton.distance(automaton.after(cat, 5)), 0);  // cat dog
}

TEST(PhraseAutomaton, the_shortest_way_leaves_banned_phrases_out) {
  Constraints rules;
  rules.forced = {{{4}}, {{5}}};
  rules.banned = {{4, 5}, {5, 4}};
  const PhraseAutomaton automaton(rules, SpecialTokens(), 20, kTokens);
  EXPECT_EQ(automaton.distance(automaton.start()), 3);  // 4 6 5
  const PhraseAutomaton::State said = automaton.after(automaton.start(), 4);
  EXPECT_EQ(automaton.distance(automaton.after(said, 5)), PhraseAutomaton::kNever);
}

}  // namespace
}  // namespace gaze::models
