// What captions must and must not hold. Includes no torch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder/tokenizer.h"

namespace gaze::models {

// Sequences of tokens. A phrase is in a caption where its tokens stand in a row.
struct Constraints {
  static constexpr size_t kMaxForced = 12;

  int64_t min_words = 0;  // tokens before the end token, prefix included
  // n: no n tokens stand twice in the same order; 0: they may. Yields where each token that leaves the other
  // constraints possible would break it.
  int64_t no_repeat_ngram = 0;
  // The search ranks by log-probabilities, and those of tokens that the caption (prefix included) already has
  // count this many times: above 1 repetition is dearer (Keskar et al. 2019; on log-probabilities, as Hugging
  // Face's beam search has it). What is reported are the decoder's own.
  double repetition_penalty = 1;
  // Phrases that captions do not have, whatever follows their tokens; the end token alone: captions do not
  // end by themselves.
  std::vector<std::vector<int64_t>> banned;
  // Of each phrase its alternatives, of which captions have at least one.
  std::vector<std::vector<std::vector<int64_t>>> forced;
  std::vector<int64_t> prefix;  // captions start with these
  // [V] whether the token goes on with the word before it (see continuations()); empty: none does. A forced
  // phrase is said only where the token after it does not. A phrase whose first token does stands at the
  // start of a caption only.
  std::vector<bool> continuations;
};

// Throws ArgumentError for an option outside its range and for constraints that no caption of a vocabulary of
// V tokens obeys within `max_words` tokens, naming those that conflict.
void check_constraints(const Constraints& constraints, const SpecialTokens& specials, int64_t max_words,
                       int64_t V);

// Constraints::continuations of a tokenizer's tokens.
std::vector<bool> continuations(const Tokenizer& tokenizer);

}  // namespace gaze::models
