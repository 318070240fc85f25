// The decoders that learn from scenes.
#pragma once

#include <memory>

#include "models/decoder/evidence_decoder.h"
#include "models/decoder/vocabulary.h"
#include "models/training/caption_recipe.h"

namespace gaze::models {

// The recipe's decoder of `classes` classes' evidence with random weights: its groups are noun_groups(), its
// cells the nouns' own embeddings, which words are chosen by, too. Throws ArgumentError for options that do
// not fit.
std::shared_ptr<EvidenceDecoder> scene_decoder(const CaptionRecipe& recipe, const Vocabulary& vocabulary,
                                               int64_t classes);

}  // namespace gaze::models
