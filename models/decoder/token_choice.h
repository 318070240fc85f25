// The best tokens of one row of log-probabilities. Includes no torch.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/decoder/tokenizer.h"

namespace gaze::models {

// Whether a search may say it at all: not <pad>, <start>, <unk>, nor what is impossible (-infinity, or no
// number).
inline bool may_be_said(int64_t token, float log_p, const SpecialTokens& specials) {
  return log_p > -std::numeric_limits<float>::infinity() && (token == specials.end || !specials.has(token));
}

// The `count` >= 1 most probable tokens of log_p [V] that may be said, best first, equal ones by id.
std::vector<int64_t> best_tokens(const float* log_p, int64_t V, int64_t count, const SpecialTokens& specials);

}  // namespace gaze::models
