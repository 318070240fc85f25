// Fine-tuning a network with new blocks on pictures in a folder a class, in two stages; exact resume after a
// kill.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"
#include "models/data/image_folder.h"
#include "models/image/preprocess.h"
#include "models/metrics/confusion.h"
#include "models/training/classify_recipe.h"
#include "models/training/gate_statistics.h"
#include "models/training/training_loop.h"

namespace gaze::models {

// What fine-tuning starts from. The network is changed.
struct ClassifyStart {
  std::shared_ptr<Backbone> network;
  Preprocessing preprocessing;
  std::vector<std::string> labels;  // of its classes; empty where they are not known
  std::string data;                 // what to call the pictures' folder in the provenance
};

struct ClassifyEvents {
  std::function<void(const TrainingMoment&)> moment;
  std::function<void(const std::string&)> say;  // lines for a person: what is inserted, which gates are stuck
};

struct ClassifyResult {
  std::filesystem::path model;  // the best model by validation
  double val_accuracy = 0, val_loss = 0;
  Confusion confusion;  // of the best model, on the validation pictures
};

// Inserts the recipe's blocks and trains in the folder `out`, first the stage "blocks": the new blocks and
// the head; then "all". The network keeps its head where that has the folder's classes, by label or, without
// labels, by number; else it gets a new one.
//   out/model.safetensors   the best model so far: highest validation accuracy, then lower loss; task
//   "classify" out/confusion.csv       its confusion matrix out/log.csv             a line every 20 steps and
//   every epoch:
//                           stage,step,loss,lr,val_loss,val_accuracy,seconds
//   out/gates.csv           a line a gate and epoch: stage,step,gate,mean,deviation,near_0,near_half,near_1
//   out/state.safetensors   what a resumed run goes on from; a run that finds it and the same recipe resumes
// Random resized crops, mirroring, mixup, label smoothing, AdamW or SGD, moving average of the weights, and
// the loop of training_loop.h. Losses are nats a picture. Throws ArgumentError (recipe, patterns, specs; a
// folder with another recipe's state) and FileError (pictures, disk).
ClassifyResult train_classify(const ClassifyRecipe& recipe, const ClassifyStart& start,
                              const ImageFolder& pictures, const std::filesystem::path& out,
                              const ClassifyEvents& events);

}  // namespace gaze::models
