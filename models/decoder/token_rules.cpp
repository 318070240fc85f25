#include "models/decoder/token_rules.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gaze::models {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

bool is_any(const Constraints& constraints) {
  return constraints.min_words > 0 || constraints.no_repeat_ngram > 0 ||
         constraints.repetition_penalty != 1 || !constraints.banned.empty() || !constraints.forced.empty() ||
         !constraints.prefix.empty();
}

}  // namespace

TokenRules::TokenRules(const Constraints& constraints, const SpecialTokens& specials, int64_t max_words,
                       int64_t V)
    : constraints_(constraints),
      specials_(specials),
      max_words_(max_words),
      V_(V),
      any_(is_any(constraints)),
      captions_end_(std::find(constraints.banned.begin(), constraints.banned.end(),
                              std::vector<int64_t>{specials.end}) == constraints.banned.end()),
      automaton_(planned(constraints, specials, max_words, V)) {}

TokenRules::State TokenRules::after(const State& state, int64_t token) const {
  State next = state;
  next.tokens.push_back(token);
  if (any_) next.phrases = automaton_.after(state.phrases, token);
  return next;
}

void TokenRules::apply(const State& state, float* log_p) const {
  const size_t length = state.tokens.size();
  if (length < constraints_.prefix.size()) {
    const int64_t token = constraints_.prefix[length];
    const float own = log_p[token];
    std::fill(log_p, log_p + V_, kImpossible);
    log_p[token] = own;
    return;
  }
  for (size_t i = 0; i < length; ++i) {
    const int64_t token = state.tokens[i];
    const bool is_first = std::find(state.tokens.begin(), state.tokens.begin() + static_cast<int64_t>(i),
                                    token) == state.tokens.begin() + static_cast<int64_t>(i);
    if (is_first) log_p[token] *= static_cast<float>(constraints_.repetition_penalty);
  }
  if (static_cast<int64_t>(length) == max_words_) return;
  apply_phrases(state, log_p);
  ban_repeated(state.tokens, log_p);
}

void TokenRules::apply_phrases(const State& state, float* log_p) const {
  const auto length = static_cast<int64_t>(state.tokens.size());
  const auto allows = [&](int64_t token) {
    return automaton_.possible(automaton_.after(state.phrases, token), length + 1);
  };
  std::vector<std::pair<int64_t, float>> watched;
  for (const int64_t token : automaton_.watched(state.phrases)) {
    watched.emplace_back(token, allows(token) ? log_p[token] : kImpossible);
  }
  const bool ends = captions_end_ && automaton_.may_end(state.phrases, length);
  const float end = ends ? log_p[specials_.end] : kImpossible;
  const bool word = allows(PhraseAutomaton::kOtherWord), piece = allows(PhraseAutomaton::kOtherPiece);
  if (!word || !piece) {
    for (int64_t token = 0; token < V_; ++token) {
      if (!(automaton_.continues(token) ? piece : word)) log_p[token] = kImpossible;
    }
  }
  for (const auto& [token, value] : watched) log_p[token] = value;
  log_p[specials_.end] = end;
}

void TokenRules::ban_repeated(const std::vector<int64_t>& tokens, float* log_p) const {
  const auto n = static_cast<size_t>(constraints_.no_repeat_ngram);
  if (n == 0 || tokens.size() < n) return;
  const auto last = tokens.end() - static_cast<int64_t>(n - 1);
  std::vector<std::pair<int64_t, float>> banned;
  for (auto first = tokens.begin(); first + static_cast<int64_t>(n) <= tokens.end(); ++first) {
    const auto next = first + static_cast<int64_t>(n - 1);
    if (!std::equal(first, next, last)) continue;
    banned.emplace_back(*next, log_p[*next]);
    log_p[*next] = kImpossible;
  }
  for (int64_t token = 0; token < V_; ++token) {
    const bool never = specials_.has(token) && token != specials_.end;
    if (log_p[token] > kImpossible && !never) return;
  }
  // A token may stand here twice: what it was the first time counts.
  for (auto ban = banned.rbegin(); ban != banned.rend(); ++ban) log_p[ban->first] = ban->second;
}

int32_t TokenRules::distance(const State& state, int64_t token) const {
  if (constraints_.forced.empty() || token == specials_.end) return 0;
  if (state.tokens.size() < constraints_.prefix.size()) return 0;
  return automaton_.distance(automaton_.after(state.phrases, token));
}

std::vector<int64_t> TokenRules::nearer(const State& state) const {
  std::vector<int64_t> tokens;
  if (constraints_.forced.empty() || state.tokens.size() < constraints_.prefix.size()) return tokens;
  for (const int64_t token : automaton_.watched(state.phrases)) {
    if (distance(state, token) < automaton_.distance(state.phrases)) tokens.push_back(token);
  }
  return tokens;
}

}  // namespace gaze::models
