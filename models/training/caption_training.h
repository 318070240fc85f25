// Training a captioner on composed scenes, in two stages; exact resume after a kill.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "models/training/caption_recipe.h"
#include "models/training/training_loop.h"

namespace gaze::models {

struct TrainingResult {
  std::filesystem::path model;  // the best model by validation
  double val_nouns = 0;
  double val_loss = 0;
};

// Trains by `recipe` in the folder `out`, in the stages "nouns", "decoder", "slots", after "evidence" is
// gathered:
//   out/model.safetensors   the best model so far by validation: the share of scenes with all nouns right,
//   which
//                           is a moment's val_score, then the lower loss
//   out/log.csv             a line every 20 steps and every epoch:
//                           stage,step,loss,lr,val_loss,val_nouns,seconds
//   out/state.safetensors   what a resumed run goes on from; a run that finds it and the same recipe resumes
//   out/evidence.*          the frozen network's class evidence, removed when the run is finished
// Teacher forcing, label smoothing, AdamW, and the loop of training_loop.h. Losses are nats a token (and the
// slots' penalty). Throws FileError (weights, packages, disk) and ArgumentError (recipe; a folder with
// another recipe's state).
TrainingResult train_caption(const CaptionRecipe& recipe, const std::filesystem::path& out,
                             const std::function<void(const TrainingMoment&)>& watch);

}  // namespace gaze::models
