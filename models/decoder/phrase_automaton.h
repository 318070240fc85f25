// Which phrases a sequence of tokens says, and what it can still say. Includes no torch.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "models/decoder/constraints.h"

namespace gaze::models {

// The banned and forced phrases of constraints as one automaton (Aho and Corasick 1975): it reads a caption
// token by token and never goes back. With it a search knows of every token whether the caption can still
// have all forced phrases, no banned one, and a length that is allowed.
class PhraseAutomaton {
 public:
  static constexpr int32_t kNever = std::numeric_limits<int32_t>::max();
  // Stand for any token that is in no phrase: one that starts a word, and one that goes on with it.
  static constexpr int64_t kOtherWord = -2, kOtherPiece = -3;

  struct State {
    int32_t node = 0;   // the longest start of phrases that the caption ends with
    uint32_t said = 0;  // a bit for each forced phrase before it
  };

  // For captions of the tokens 0 .. V-1, `max_words` of them at most. Throws ArgumentError where the forced
  // and banned phrases together are too many to plan for.
  PhraseAutomaton(const Constraints& constraints, const SpecialTokens& specials, int64_t max_words,
                  int64_t V);

  State start() const { return {next_node(0, kStart), 0}; }
  // After one more token, which must not be the end token.
  State after(State state, int64_t token) const;

  // Fewest tokens until all forced phrases are said; 0 where the caption may end, kNever where a banned
  // phrase has been said, or must be.
  int32_t distance(State state) const { return distances_[index(state)]; }
  bool may_end(State state, int64_t length) const { return length >= min_words_ && distance(state) == 0; }
  // Whether a caption of `length` tokens so far can have all that it must: exact.
  bool possible(State state, int64_t length) const;

  // The tokens of which the next state depends on, sorted. After any other it is that of kOtherWord or
  // kOtherPiece.
  std::vector<int64_t> watched(State state) const;
  bool continues(int64_t token) const;

 private:
  static constexpr int64_t kStart = -1;  // stands before the first token

  struct Node {
    std::map<int64_t, int32_t> children;
    int32_t fallback = 0;  // the longest proper ending of this node that is a node
    bool banned = false;   // a banned phrase ends here
    uint32_t forced = 0;   // the forced phrases that end here
  };

  // A way on from a node.
  struct Step {
    int32_t node;
    bool continues;  // with a token that goes on with a word
  };

  size_t index(State state) const {
    return static_cast<size_t>(state.said) * nodes_.size() + static_cast<size_t>(state.node);
  }
  int32_t add(const std::vector<int64_t>& phrase);
  void link();
  int32_t next_node(int32_t node, int64_t token) const;
  std::vector<int64_t> letters(const Constraints& constraints, const SpecialTokens& specials,
                               int64_t V) const;
  std::vector<std::vector<Step>> steps(const std::vector<int64_t>& letters) const;
  State moved(State state, const Step& step) const;
  void measure(const std::vector<std::vector<Step>>& steps);
  void plan_lengths(const std::vector<std::vector<Step>>& steps);

  std::vector<Node> nodes_;
  std::vector<bool> continuations_;
  uint32_t all_;  // the forced phrases
  int64_t min_words_, max_words_;
  std::vector<int32_t> distances_;  // [2 ^ forced, nodes]
  // What is possible with 0, 1, ... tokens to go to min_words_; the last holds for more, too. Empty where
  // there is a word of no phrase to fill captions up with.
  std::vector<std::vector<bool>> possible_;
};

// The automaton of constraints that were checked as check_constraints() does.
PhraseAutomaton planned(const Constraints& constraints, const SpecialTokens& specials, int64_t max_words,
                        int64_t V);

}  // namespace gaze::models
