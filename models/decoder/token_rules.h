// What a caption may say next under constraints. Includes no torch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder/constraints.h"
#include "models/decoder/phrase_automaton.h"

namespace gaze::models {

class TokenRules {
 public:
  // What of a caption so far matters.
  struct State {
    std::vector<int64_t> tokens;
    PhraseAutomaton::State phrases;
  };

  // For captions of at most `max_words` tokens of 0 .. V-1. Throws as check_constraints() does.
  TokenRules(const Constraints& constraints, const SpecialTokens& specials, int64_t max_words, int64_t V);

  // False where every token may follow any other, at its own log-probability.
  bool any() const { return any_; }
  // False where captions are cut at max_words.
  bool captions_end() const { return captions_end_; }

  State start() const { return {{}, automaton_.start()}; }
  State after(const State& state, int64_t token) const;

  // log_p [V], in place: -infinity for tokens that must not follow, times the repetition penalty for those
  // that were said. Of a caption of max_words tokens only the end can follow, and it may.
  void apply(const State& state, float* log_p) const;

  // How many tokens it still takes to have said all forced phrases if this one follows; 0 without forced ones
  // and within the prefix.
  int32_t distance(const State& state, int64_t token) const;
  // The tokens that bring it nearer.
  std::vector<int64_t> nearer(const State& state) const;

 private:
  void apply_phrases(const State& state, float* log_p) const;
  void ban_repeated(const std::vector<int64_t>& tokens, float* log_p) const;

  Constraints constraints_;
  SpecialTokens specials_;
  int64_t max_words_, V_;
  bool any_, captions_end_;
  PhraseAutomaton automaton_;
};

}  // namespace gaze::models
