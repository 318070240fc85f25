// Finding token sequences, captions or translations: greedy (beam = 1) and batched beam search.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder/tokenizer.h"
#include "models/decoder/word_decoder.h"

namespace gaze::models {

struct SearchOptions {
  int64_t beam = 3;  // hypotheses kept a step; 1 is greedy
  int64_t best = 1;  // captions returned a picture, 1..beam
  int64_t max_words =
      24;  // longest caption without its end token; the decoder's max_tokens - 1 where that is less
  SpecialTokens specials;  // of the decoder's vocabulary
  double length_penalty =
      0.7;  // score = log-probability / ((5 + length) / 6) ^ length_penalty (Wu et al. 2016)
};

// One caption. `tokens` has no start token and ends with the end token if finished.
struct Hypothesis {
  std::vector<int64_t> tokens;
  std::vector<double> log_probabilities;  // of each token
  std::vector<torch::Tensor> maps;        // of each token: [N, S], cross-attention of the last layer
  double log_probability = 0;             // their sum
  double score = 0;                       // what the search ranked by; length is that of `tokens`
  bool finished = false;                  // ended by itself; otherwise cut at max_words
};

// Throws ArgumentError for an option outside its range.
void check_search(const SearchOptions& options);

// Sequences of the inputs, best score first, finished ones before
// unfinished ones; at least one an input, at most `best`, all distinct. <pad>, <start> and <unk> are never
// emitted.
//
// All inputs and hypotheses of a step are one batch. A step keeps, of every input, the `beam` best
// continuations that do not end; those that end count as finished where they are among its `beam` best
// continuations. An input is done when no unfinished hypothesis can still reach the score of its `best`
// finished ones (with beam = 1: when it ends), and leaves the batch. A beam that holds all prefixes finds the
// optimum.
//
// Throws ArgumentError for an option outside its range.
std::vector<std::vector<Hypothesis>> search(StepDecoder& decoder, const SearchOptions& options);

// Captions of the pictures of memory [B, S, D] (look_at's), by a decoder in any mode. Throws ArgumentError
// also for memory that is not finite.
std::vector<std::vector<Hypothesis>> search(WordDecoder& decoder, const torch::Tensor& memory,
                                            const SearchOptions& options);

}  // namespace gaze::models
