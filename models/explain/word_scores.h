// A caption's words as what is explained.
#pragma once

#include "models/captioner/captioner.h"
#include "models/explain/score.h"

namespace gaze::models {

// The log-probability of each of the caption's words, the sum of its tokens', given the picture and the words
// before it: [B, words]. `captioner` must outlive what is returned. Throws ArgumentError for a caption of
// more tokens than the decoder can say.
Scores word_scores(Captioner& captioner, const Caption& caption);

}  // namespace gaze::models
