// Training a network to give another's class evidence: knowledge distillation; exact resume after a kill.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "models/training/distill_recipe.h"
#include "models/training/training_loop.h"

namespace gaze::models {

struct DistillEvents {
  std::function<void(const TrainingMoment&)> moment;
  std::function<void(const std::string&)> say;  // lines for a person: who learns from whom, on what
};

struct DistillResult {
  std::filesystem::path model;  // the best model by validation
  double val_agreement = 0, val_loss = 0;
};

// The student, built with random weights and the recipe's blocks in its slots, learns the class evidence that
// the frozen teacher has on the same crops (distill_crops.h, distill_loss.h), each network normalising them
// in its own way. In the folder `out`:
//   out/model.safetensors   the best model so far, lowest validation loss; task "classify", the teacher's
//                           labels, for pictures of the last phase's size
//   out/log.csv             a line every 20 steps and every validation:
//                           stage,step,loss,lr,val_loss,val_agreement,seconds
//   out/state.safetensors   what a resumed run goes on from; a run that finds it and the same recipe resumes
// Validated are composed scenes of the validation split: val_loss is the loss at temperature 1, in nats;
// val_agreement the share of scenes in which both networks' likeliest class is the same. AdamW or SGD, moving
// average of the weights, and the loop of training_loop.h. Throws ArgumentError (recipe, patterns, specs,
// networks of different strides; a folder with another recipe's state) and FileError (weights, pictures,
// disk).
DistillResult train_distill(const DistillRecipe& recipe, const std::filesystem::path& out,
                            const DistillEvents& events);

}  // namespace gaze::models
