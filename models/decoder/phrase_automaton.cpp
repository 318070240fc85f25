#include "models/decoder/phrase_automaton.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr size_t kMostWork = size_t{1} << 27;  // steps of a pass over the distances: a second or so

bool ends_nothing(const Constraints& constraints, const SpecialTokens& specials) {
  const std::vector<int64_t> end = {specials.end};
  return std::find(constraints.banned.begin(), constraints.banned.end(), end) != constraints.banned.end();
}

}  // namespace

PhraseAutomaton::PhraseAutomaton(const Constraints& constraints, const SpecialTokens& specials,
                                 int64_t max_words, int64_t V)
    : nodes_(1),
      continuations_(constraints.continuations),
      all_((1U << constraints.forced.size()) - 1),
      // A caption that cannot end has them all.
      min_words_(ends_nothing(constraints, specials) ? max_words : constraints.min_words),
      max_words_(max_words) {
  for (const std::vector<int64_t>& phrase : constraints.banned) {
    nodes_[static_cast<size_t>(add(phrase))].banned = true;
  }
  for (size_t i = 0; i < constraints.forced.size(); ++i) {
    for (const std::vector<int64_t>& phrase : constraints.forced[i]) {
      nodes_[static_cast<size_t>(add(phrase))].forced |= 1U << i;
    }
  }
  link();
  const std::vector<int64_t> alphabet = letters(constraints, specials, V);
  const size_t work = (static_cast<size_t>(all_) + 1) * nodes_.size() * alphabet.size();
  check_that(work <= kMostWork, "search", "fewer forced and banned phrases together",
             fmt::format("{} forced, {} banned", constraints.forced.size(), constraints.banned.size()));
  const std::vector<std::vector<Step>> ways = steps(alphabet);
  measure(ways);
  if (std::find(alphabet.begin(), alphabet.end(), kOtherWord) == alphabet.end()) plan_lengths(ways);
}

bool PhraseAutomaton::continues(int64_t token) const {
  if (token == kOtherPiece) return true;
  return token >= 0 && token < static_cast<int64_t>(continuations_.size()) &&
         continuations_[static_cast<size_t>(token)];
}

int32_t PhraseAutomaton::add(const std::vector<int64_t>& phrase) {
  int32_t node = 0;
  const auto child = [&](int64_t token) {
    const auto [place, is_new] =
        nodes_[static_cast<size_t>(node)].children.try_emplace(token, static_cast<int32_t>(nodes_.size()));
    node = place->second;
    if (is_new) nodes_.emplace_back();
  };
  if (continues(phrase.front())) child(kStart);
  for (const int64_t token : phrase) child(token);
  return node;
}

// Breadth first, so that shorter endings are linked before longer ones need them.
void PhraseAutomaton::link() {
  std::vector<int32_t> order = {0};
  for (size_t at = 0; at < order.size(); ++at) {
    const int32_t parent = order[at];
    for (const auto& [token, child] : nodes_[static_cast<size_t>(parent)].children) {
      Node& node = nodes_[static_cast<size_t>(child)];
      node.fallback = parent == 0 ? 0 : next_node(nodes_[static_cast<size_t>(parent)].fallback, token);
      const Node& ending = nodes_[static_cast<size_t>(node.fallback)];
      node.banned = node.banned || ending.banned;
      node.forced |= ending.forced;
      order.push_back(child);
    }
  }
}

int32_t PhraseAutomaton::next_node(int32_t node, int64_t token) const {
  while (true) {
    const Node& at = nodes_[static_cast<size_t>(node)];
    const auto child = at.children.find(token);
    if (child != at.children.end()) return child->second;
    if (node == 0) return 0;
    node = at.fallback;
  }
}

PhraseAutomaton::State PhraseAutomaton::after(State state, int64_t token) const {
  return moved(state, {next_node(state.node, token), continues(token)});
}

// A phrase is said once the next token leaves its last word whole.
PhraseAutomaton::State PhraseAutomaton::moved(State state, const Step& step) const {
  const uint32_t said = step.continues ? 0 : nodes_[static_cast<size_t>(state.node)].forced;
  return {step.node, state.said | said};
}

std::vector<int64_t> PhraseAutomaton::watched(State state) const {
  std::vector<int64_t> tokens;
  for (int32_t node = state.node;; node = nodes_[static_cast<size_t>(node)].fallback) {
    for (const auto& [token, child] : nodes_[static_cast<size_t>(node)].children) {
      if (token != kStart) tokens.push_back(token);
    }
    if (node == 0) break;
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

// The tokens that a shortest way needs: those of forced phrases and one of no phrase, of both sorts. Tokens
// of banned phrases alone bring nothing that those do not, but where there are no others.
std::vector<int64_t> PhraseAutomaton::letters(const Constraints& constraints, const SpecialTokens& specials,
                                              int64_t V) const {
  std::set<int64_t> needed, known;
  for (const auto& alternatives : constraints.forced) {
    for (const auto& phrase : alternatives) needed.insert(phrase.begin(), phrase.end());
  }
  for (const auto& phrase : constraints.banned) known.insert(phrase.begin(), phrase.end());
  known.erase(specials.end);
  known.insert(needed.begin(), needed.end());
  int64_t others[2] = {};  // that start a word, that go on with one
  for (int64_t token = 0; token < V; ++token) {
    if (!specials.has(token) && known.count(token) == 0) ++others[continues(token) ? 1 : 0];
  }
  if (others[0] > 0) needed.insert(kOtherWord);
  if (others[1] > 0) needed.insert(kOtherPiece);
  for (const int64_t token : known) {
    if (others[continues(token) ? 1 : 0] == 0) needed.insert(token);
  }
  return {needed.begin(), needed.end()};
}

// Of each node the ways on that say no banned phrase; none of those that said one.
std::vector<std::vector<PhraseAutomaton::Step>> PhraseAutomaton::steps(
    const std::vector<int64_t>& letters) const {
  std::vector<std::vector<Step>> all(nodes_.size());
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].banned) continue;
    for (const int64_t token : letters) {
      const Step step{next_node(static_cast<int32_t>(node), token), continues(token)};
      if (!nodes_[static_cast<size_t>(step.node)].banned) all[node].push_back(step);
    }
  }
  return all;
}

// Phrases that were said stay so: the sets of them are done from the fullest down, and in each the distances
// shrink until none does any more.
void PhraseAutomaton::measure(const std::vector<std::vector<Step>>& steps) {
  const auto count = static_cast<int32_t>(nodes_.size());
  distances_.assign((static_cast<size_t>(all_) + 1) * nodes_.size(), kNever);
  for (uint32_t said = all_;; --said) {
    for (int32_t node = 0; node < count; ++node) {
      const Node& at = nodes_[static_cast<size_t>(node)];
      if (!at.banned && (said | at.forced) == all_) distances_[index({node, said})] = 0;
    }
    for (bool shrunk = true; shrunk;) {
      shrunk = false;
      for (int32_t node = 0; node < count; ++node) {
        int32_t& shortest = distances_[index({node, said})];
        for (const Step& step : steps[static_cast<size_t>(node)]) {
          const int32_t behind = distance(moved({node, said}, step));
          if (behind == kNever || behind + 1 >= shortest) continue;
          shortest = behind + 1;
          shrunk = true;
        }
      }
    }
    if (said == 0) break;
  }
}

void PhraseAutomaton::plan_lengths(const std::vector<std::vector<Step>>& steps) {
  std::vector<bool> at_minimum(distances_.size());
  for (size_t i = 0; i < distances_.size(); ++i) at_minimum[i] = distances_[i] <= max_words_ - min_words_;
  possible_.push_back(at_minimum);
  for (int64_t missing = 1; missing <= min_words_; ++missing) {
    std::vector<bool> now(distances_.size());
    for (uint32_t said = 0; said <= all_; ++said) {
      for (int32_t node = 0; node < static_cast<int32_t>(nodes_.size()); ++node) {
        const std::vector<Step>& ways = steps[static_cast<size_t>(node)];
        now[index({node, said})] = std::any_of(ways.begin(), ways.end(), [&](const Step& step) {
          return possible_.back()[index(moved({node, said}, step))];
        });
      }
    }
    if (now == possible_.back()) break;
    possible_.push_back(std::move(now));
  }
}

bool PhraseAutomaton::possible(State state, int64_t length) const {
  if (possible_.empty() || length >= min_words_) return distance(state) <= max_words_ - length;
  const auto missing = static_cast<size_t>(min_words_ - length);
  return possible_[std::min(missing, possible_.size() - 1)][index(state)];
}

}  // namespace gaze::models
