// Finding captions: greedy (beam = 1) and batched beam search.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder/caption_decoder.h"

namespace gaze::models {

struct SearchOptions {
  int64_t beam = 3;             // hypotheses kept a step; 1 is greedy. < 1: ArgumentError
  int64_t best = 1;             // captions returned a picture, at most `beam`
  int64_t max_words = 24;       // a caption that has not ended by then is returned unfinished
  double length_penalty = 0.7;  // score = log-probability / ((5 + length) / 6) ^ length_penalty (Wu et al. 2016)
};

// One caption. `tokens` has no start token and ends with the end token if finished.
struct Hypothesis {
  std::vector<int64_t> tokens;
  std::vector<double> log_probabilities;  // of each token
  std::vector<torch::Tensor> maps;        // of each token: [N, S], cross-attention of the last layer
  double log_probability = 0;             // their sum
  double score = 0;                       // what the search ranked by
  bool finished = false;
};

// memory [B, S, D] -> for each picture the best captions, best first; never empty.
std::vector<std::vector<Hypothesis>> search(CaptionDecoder& decoder, const torch::Tensor& memory, const SearchOptions& options);

}  // namespace gaze::models
