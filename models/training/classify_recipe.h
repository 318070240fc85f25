// How a classifier is fine-tuned; a recipe file is this struct as JSON, its keys the long flags of
// `gaze train classify`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gaze::models {

struct ClassifyRecipe {
  // what is put into the network: "PATTERN=SPEC", e.g. "layer[34].*.attn=se(reduction=16)"
  std::vector<std::string> insert;
  std::string init = "identity";  // or "paper"

  // the pictures
  int64_t size = 0;             // side of the model's input; 0: as the network has it
  double val_share = 0.2;       // of each class, where the folder has no train and val
  double smallest_crop = 0.35;  // random resized crop: of the picture's area, at least
  double flip = 0.5;            // share of uses that are mirrored
  double mixup = 0.2;           // parameter of the Beta distribution that weighs two pictures; 0: none
  double label_smoothing = 0.1;

  // first stage: the new blocks and the head alone; the rest is frozen, its norms in evaluation
  int64_t block_epochs = 5;
  // second stage: all
  int64_t epochs = 10;
  std::string norms = "frozen";  // statistics of the network's own norms then: "frozen" or "trained"

  int64_t batch = 16;
  std::string optimizer = "adamw";  // or "sgd"
  double lr = 2e-3;                 // peak, of new blocks and the head
  double network_lr = 2e-4;         // peak, of the rest
  double momentum = 0.9;            // of sgd
  double weight_decay = 0.01;       // of kernels and matrices
  int64_t warmup = 20;              // steps, at most a tenth of a stage's
  double clip = 1.0;                // of the norm of each parameter group's gradient
  double ema = 0.99;                // decay of the weights' moving average, which is what validates; 0: none
  uint64_t seed = 1;

  // not part of what makes two runs the same
  double save_seconds = 60;  // how often the run's state is saved, for resuming
  std::string licence;       // of the model that is written; empty: that of the weights it grew from
};

// Throws ArgumentError for a value that is out of range or no known name.
void check(const ClassifyRecipe& recipe);

// What makes two runs the same.
nlohmann::json to_json(const ClassifyRecipe& recipe);

// "layer4.*.attn=se(reduction=8)" -> {"layer4.*.attn", "se(reduction=8)"}. Throws ArgumentError.
struct Insertion {
  std::string pattern, spec;
};
Insertion insertion_from_text(const std::string& text);

}  // namespace gaze::models
