// Training a translator on pairs of texts; exact resume after a kill.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "models/training/training_loop.h"
#include "models/training/translation_recipe.h"

namespace gaze::models {

struct TranslationTraining {
  std::filesystem::path model;  // the best by val_exact, then by val_loss
  double val_loss = 0;          // nats a token
  double val_exact = 0;         // share of the validation pairs that are translated to the letter
};

// Trains by `recipe` in the folder `out`: model.safetensors, log.csv and state.safetensors as train_caption()
// leaves them. Teacher forcing, cross-entropy with label smoothing, AdamW and the loop of training_loop.h.
// What of the data is left out is told in lines to print, as soon as it is known.
// Throws FileError (data, disk) and ArgumentError (recipe; too few pairs; a folder with another recipe's
// state).
TranslationTraining train_translation(const TranslationRecipe& recipe, const std::filesystem::path& out,
                                      const std::function<void(const TrainingMoment&)>& watch,
                                      const std::function<void(const std::string&)>& tell);

}  // namespace gaze::models
