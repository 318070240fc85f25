// Finding token sequences, captions or translations: greedy (beam = 1) and batched beam search.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder/caption_decoder.h"

namespace gaze::models {

struct SearchOptions {
  int64_t beam = 3;  // hypotheses kept a step; 1 is greedy
  int64_t best = 1;  // captions returned a picture, 1..beam
  int64_t max_words =
      24;  // longest caption without its end token; the decoder's max_tokens - 1 where that is less
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

// What is searched: a decoder at the start of B inputs (pictures, or sources), `beam` rows each. Row
// b * beam + i is hypothesis i of input b: R = B * beam.
class StepDecoder {
 public:
  virtual ~StepDecoder() = default;
  virtual int64_t max_tokens() const = 0;  // longest sequence, end token included
  virtual int64_t inputs() const = 0;      // B, at the moment
  // tokens [R] int64: the token each row emitted last (the start token first).
  virtual DecoderStep step(const torch::Tensor& tokens) = 0;
  // As DecoderState::reorder() has it.
  virtual void reorder(const torch::Tensor& rows) = 0;
};

// The input of each group of `rows` (R' = B' * beam), [B']. Throws ArgumentError for groups of several.
torch::Tensor sources_of(const torch::Tensor& rows, int64_t beam);

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

// Captions of the pictures of memory [B, S, D] (embed_picture's). Throws ArgumentError also for memory that
// is not finite.
std::vector<std::vector<Hypothesis>> search(CaptionDecoder& decoder, const torch::Tensor& memory,
                                            const SearchOptions& options);

}  // namespace gaze::models
