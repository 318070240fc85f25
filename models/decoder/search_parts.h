// What the kinds of search share. Not part of the library's door.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder/search.h"

namespace gaze::models {

// The longest caption without its end token.
int64_t longest_caption(const StepDecoder& decoder, const SearchOptions& options);

// What `length` tokens with this log-probability score.
double score(const SearchOptions& options, double log_probability, int64_t length);

// The decoder's answer to these tokens, one a row: log-probabilities [R, V] contiguous float32 on the CPU.
DecoderStep ask(StepDecoder& decoder, const std::vector<int64_t>& tokens);

// Hands the decoder's rows on, where they are not the same as before.
void reorder(StepDecoder& decoder, const std::vector<int64_t>& rows, int64_t rows_before);

// Beam search, and groups of it.
std::vector<std::vector<Hypothesis>> beam_search(StepDecoder& decoder, const SearchOptions& options);

// Samples.
std::vector<std::vector<Hypothesis>> draw_samples(StepDecoder& decoder, const SearchOptions& options);

}  // namespace gaze::models
