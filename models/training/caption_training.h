// Training a captioner on composed scenes, in two stages; exact resume after a kill.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "models/training/caption_recipe.h"

namespace gaze::models {

// One moment of a run, for a progress display and the log.
struct TrainingMoment {
  std::string stage;  // "evidence", "decoder", "slots"
  int64_t step = 0, steps = 0;
  double loss = 0;  // mean since the last moment; nats a token (and the slots' penalty)
  double lr = 0;
  double seconds = 0;     // since the stage began or was resumed
  double val_loss = -1;   // only at the end of an epoch
  double val_nouns = -1;  // share of validation scenes with all nouns right, greedy
};

struct TrainingResult {
  std::filesystem::path model;  // the best model by validation
  double val_nouns = 0;
  double val_loss = 0;
};

// Trains by `recipe` in the folder `out`:
//   out/model.safetensors   the best model so far by validation: share of scenes with all nouns right, then
//   lower loss out/log.csv             a line every 20 steps and every epoch:
//   stage,step,loss,lr,val_loss,val_nouns,seconds out/state.safetensors   what a resumed run goes on from; a
//   run that finds it and the same recipe resumes out/evidence.*          the frozen network's class
//   evidence, removed when the run is finished
// Teacher forcing, label smoothing, AdamW, warm-up and cosine, clipping. Every step draws its randomness from
// (seed, stage, step), so a resumed run ends with the same bits, on the same machine and with as many
// threads. Throws FileError (weights, packages, disk) and ArgumentError (recipe; a folder with another
// recipe's state).
TrainingResult train_caption(const CaptionRecipe& recipe, const std::filesystem::path& out,
                             const std::function<void(const TrainingMoment&)>& watch);

}  // namespace gaze::models
