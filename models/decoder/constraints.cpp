#include "models/decoder/constraints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/decoder/phrase_automaton.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using Phrase = std::vector<int64_t>;

constexpr char kOp[] = "search";

std::string text(const Phrase& phrase) {
  return fmt::format("[{}]", fmt::join(phrase, ", "));
}

void check_tokens(const Phrase& phrase, const char* name, const SpecialTokens& specials, int64_t V) {
  for (const int64_t token : phrase) {
    check_that(token >= 0 && token < V && !specials.has(token), kOp,
               fmt::format("{} of tokens in 0..{} that are not special", name, V - 1),
               fmt::format("{} {}", name, text(phrase)));
  }
}

void check_phrase(const Phrase& phrase, const char* name, const SpecialTokens& specials, int64_t V) {
  check_that(!phrase.empty(), kOp, fmt::format("{} phrases of one token or more", name), "an empty one");
  check_tokens(phrase, fmt::format("{} phrases", name).c_str(), specials, V);
}

void check_ranges(const Constraints& constraints, const SpecialTokens& specials, int64_t max_words,
                  int64_t V) {
  check_that(constraints.min_words >= 0 && constraints.min_words <= max_words, kOp,
             fmt::format("min_words in 0..max_words ({})", max_words),
             fmt::format("min_words {}", constraints.min_words));
  check_that(constraints.no_repeat_ngram >= 0, kOp, "no_repeat_ngram >= 0",
             fmt::format("no_repeat_ngram {}", constraints.no_repeat_ngram));
  check_that(std::isfinite(constraints.repetition_penalty) && constraints.repetition_penalty > 0, kOp,
             "a repetition_penalty above 0",
             fmt::format("repetition_penalty {}", constraints.repetition_penalty));
  check_that(constraints.forced.size() <= Constraints::kMaxForced, kOp,
             fmt::format("at most {} forced phrases", Constraints::kMaxForced),
             fmt::format("{}", constraints.forced.size()));
  check_that(constraints.continuations.empty() || static_cast<int64_t>(constraints.continuations.size()) == V,
             kOp, fmt::format("continuations of {} tokens, or none", V),
             fmt::format("{}", constraints.continuations.size()));
  for (const Phrase& phrase : constraints.banned) {
    if (phrase != Phrase{specials.end}) check_phrase(phrase, "banned", specials, V);
  }
  for (const auto& alternatives : constraints.forced) {
    check_that(!alternatives.empty(), kOp, "an alternative or more of each forced phrase", "none");
    for (const Phrase& phrase : alternatives) check_phrase(phrase, "forced", specials, V);
  }
  check_tokens(constraints.prefix, "a prefix", specials, V);
  check_that(static_cast<int64_t>(constraints.prefix.size()) <= max_words, kOp,
             fmt::format("a prefix of at most max_words {} tokens", max_words),
             fmt::format("{}", constraints.prefix.size()));
}

// The first banned phrase that these tokens say, at the start of a caption or, where they start a word, in
// it.
const Phrase* banned_in(const Phrase& tokens, const Constraints& constraints) {
  for (const Phrase& phrase : constraints.banned) {
    const auto place = std::search(tokens.begin(), tokens.end(), phrase.begin(), phrase.end());
    const bool only_first =
        !constraints.continuations.empty() && constraints.continuations[static_cast<size_t>(phrase.front())];
    if (place != tokens.end() && (place == tokens.begin() || !only_first)) return &phrase;
  }
  return nullptr;
}

void check_against_bans(const Constraints& constraints) {
  const Phrase* const in_prefix = banned_in(constraints.prefix, constraints);
  if (in_prefix != nullptr) {
    check_that(false, kOp, "a prefix without banned phrases",
               fmt::format("prefix {} with banned {}", text(constraints.prefix), text(*in_prefix)));
  }
  for (const auto& alternatives : constraints.forced) {
    const auto is_free = [&](const Phrase& phrase) { return banned_in(phrase, constraints) == nullptr; };
    if (std::any_of(alternatives.begin(), alternatives.end(), is_free)) continue;
    check_that(false, kOp, "forced phrases without banned ones",
               fmt::format("forced {} with banned {}", text(alternatives.front()),
                           text(*banned_in(alternatives.front(), constraints))));
  }
}

}  // namespace

void check_constraints(const Constraints& constraints, const SpecialTokens& specials, int64_t max_words,
                       int64_t V) {
  planned(constraints, specials, max_words, V);
}

PhraseAutomaton planned(const Constraints& constraints, const SpecialTokens& specials, int64_t max_words,
                        int64_t V) {
  check_ranges(constraints, specials, max_words, V);
  check_against_bans(constraints);
  PhraseAutomaton automaton(constraints, specials, max_words, V);
  PhraseAutomaton::State state = automaton.start();
  for (const int64_t token : constraints.prefix) state = automaton.after(state, token);
  const auto length = static_cast<int64_t>(constraints.prefix.size());
  if (automaton.possible(state, length)) return automaton;
  const int32_t distance = automaton.distance(state);
  check_that(distance == PhraseAutomaton::kNever || length + distance <= max_words, kOp,
             fmt::format("forced phrases that fit max_words {}", max_words),
             fmt::format("ones that need {}", length + distance));
  check_that(false, kOp, "constraints that a sequence can obey",
             "forced and banned phrases, lengths and a prefix that exclude each other");
  return automaton;
}

std::vector<bool> continuations(const Tokenizer& tokenizer) {
  // A token goes on with a word if the two make one.
  const SpecialTokens specials = tokenizer.specials();
  int64_t word = 0;
  while (word < tokenizer.size() && (specials.has(word) || tokenizer.words({word}).size() != 1)) ++word;
  std::vector<bool> all(static_cast<size_t>(tokenizer.size()));
  if (word == tokenizer.size()) return all;
  for (int64_t token = 0; token < tokenizer.size(); ++token) {
    if (specials.has(token)) continue;
    const std::vector<TokenSpan> spans = tokenizer.words({word, token});
    all[static_cast<size_t>(token)] = spans.size() == 1 && spans.front().last == 2;
  }
  return all;
}

}  // namespace gaze::models
