// Finding token sequences, captions or translations: greedy (beam = 1) and batched beam search, diverse beam
// search, sampling, and scoring of given ones.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder/constraints.h"
#include "models/decoder/sampling.h"
#include "models/decoder/tokenizer.h"
#include "models/decoder/word_decoder.h"

namespace gaze::models {

// What a score divides the log-probability of `length` tokens (the end token included) by.
enum class LengthNorm {
  wu,       // ((5 + length) / 6) ^ length_penalty (Wu et al. 2016)
  average,  // length
};

// When an input is done, beside having no hypothesis left.
enum class Stopping {
  bound,   // no unfinished hypothesis can reach the score of the `best` finished ones
  full,    // `beam` hypotheses have ended
  shrink,  // the same, and each that ended left its place in the beam empty (Xu et al. 2015)
};

struct SearchOptions {
  int64_t beam = 3;  // hypotheses kept a step; 1 is greedy
  int64_t best = 1;  // captions returned an input, 1..beam (1..samples)
  // Longest caption without its end token, in tokens; the decoder's max_tokens - 1 where that is less.
  int64_t max_words = 24;
  SpecialTokens specials;  // of the decoder's vocabulary; an id of -1: there is none
  LengthNorm length_norm = LengthNorm::wu;
  double length_penalty = 0.7;  // of LengthNorm::wu; 0: scores are log-probabilities
  Stopping stopping = Stopping::bound;
  int64_t groups = 1;      // that share the beam equally (diverse beam search)
  double diversity = 0.5;  // of groups: how much a token loses for each earlier group's choice of it
  Sampling sampling;
  Constraints constraints;
};

// One caption. `tokens` has no start token and ends with the end token if finished.
struct Hypothesis {
  std::vector<int64_t> tokens;
  std::vector<double> log_probabilities;  // of each token, the decoder's own
  std::vector<torch::Tensor> maps;        // of each token: [N, S], cross-attention of the last layer
  double log_probability = 0;             // their sum
  double score = 0;                       // what the search ranked by; length is that of `tokens`
  bool finished = false;                  // ended by itself; otherwise cut at max_words
};

// Throws ArgumentError for an option outside its range, and for options that exclude each other.
void check_search(const SearchOptions& options);

// Rows an input that the StepDecoder of a search has: `samples`, else `beam`.
int64_t rows_per_input(const SearchOptions& options);

// Sequences of the inputs, best score first, finished ones before unfinished ones; at least one an input, at
// most `best`, all distinct. <pad>, <start> and <unk> are never emitted. All inputs and hypotheses of a step
// are one batch; an input that is done leaves it. Equal sums rank by hypothesis, then by token.
//
// Beam search. A step keeps, of every input, the `beam` best continuations that do not end; those that end
// count as finished where they are among its `beam` best continuations. With `bound` the greedy caption, the
// best continuation each time, keeps a place throughout, and so the result never scores below it; a beam that
// holds all prefixes finds the optimum. With `shrink` the continuations kept are the best of both kinds, as
// many as have not ended yet. A beam of 1 is done when it ends.
//
// Groups (Vijayakumar et al. 2018). Each searches with its share of the beam, and has as many captions among
// the results at most; at each step group g chooses after groups 0 .. g-1, by sums less `diversity` x the
// times that they chose the token at this step. Scores are without that.
//
// Samples. Row i of an input draws token t with a random number of (seed, input's number, i, t), so that it
// depends neither on the batch nor on threads. Equal ones are returned once.
//
// Constraints hold for unfinished captions too. In a beam, candidates are also each row's tokens that bring
// it nearer to having all forced phrases, and places are dealt out in turn to the best of those that have
// equally far to go (dynamic beam allocation, Post and Vilar 2018), so that a phrase comes where it fits
// best; elsewhere (a beam or group of 1, samples) it comes at the last moment unless the decoder says it
// earlier.
//
// Throws ArgumentError as check_search() and check_constraints() do.
std::vector<std::vector<Hypothesis>> search(StepDecoder& decoder, const SearchOptions& options);

// Captions of the pictures of memory [B, S, D] (look_at's), by a decoder in any mode. Throws ArgumentError
// also for memory that is not finite.
std::vector<std::vector<Hypothesis>> search(WordDecoder& decoder, const torch::Tensor& memory,
                                            const SearchOptions& options);

// Given sequences, one an input, each with or without its end token (then it is unfinished), as search()
// would return them: `score` is by the length norm of `options`, of which only that and the special tokens
// matter. Any token of the vocabulary counts, <unk> too. The StepDecoder has a row an input. Throws
// ArgumentError for a sequence that is empty, longer than max_tokens, or has a token outside the vocabulary.
std::vector<Hypothesis> score_tokens(StepDecoder& decoder, const std::vector<std::vector<int64_t>>& tokens,
                                     const SearchOptions& options);
std::vector<Hypothesis> score_tokens(WordDecoder& decoder, const torch::Tensor& memory,
                                     const std::vector<std::vector<int64_t>>& tokens,
                                     const SearchOptions& options);

}  // namespace gaze::models
