// Tokens by chance. Includes no torch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/decoder/tokenizer.h"

namespace gaze::models {

// Captions drawn from the decoder's distribution, each for itself.
struct Sampling {
  int64_t samples = 0;     // an input; 0: none are drawn, the beam is searched
  double temperature = 1;  // of softmax(log p / temperature)
  int64_t top_k = 0;       // only the k most probable tokens (Fan et al. 2018); 0: all
  // Only the fewest most probable tokens that together have this probability, of what temperature and top_k
  // left (Holtzman et al. 2020).
  double top_p = 1;
  uint64_t seed = 1;
  // Each input's own number: its samples depend on this, the seed and its distributions alone. Empty: its
  // index.
  std::vector<uint64_t> inputs;
};

// The token at `share` in [0, 1) of the tokens' probabilities one after another by id: those of
// softmax(log_p / temperature), log_p [V], cut to top_k and then top_p, of the tokens that best_tokens() has.
// -1 where there is none.
int64_t drawn_token(const float* log_p, int64_t V, const Sampling& sampling, const SpecialTokens& specials,
                    double share);

}  // namespace gaze::models
