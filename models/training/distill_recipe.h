// How a network is distilled; a recipe file is this struct as JSON, its keys the long flags of
// `gaze train distill`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gaze::models {

struct DistillRecipe {
  // who teaches
  std::string teacher = "efficientnet_lite0";
  std::filesystem::path weights;  // the teacher's, bare or in a model file; frozen

  // who learns, from random weights
  std::string backbone = "resnet18";
  std::string slots = "layer[1-4].*.attn";  // the slots that are filled: a pattern of name_pattern.h
  std::string module = "cbam";              // what goes into them; "none" for nothing
  std::string init = "paper";               // how the blocks start: "paper" or "identity"

  // the pictures (see distill_crops.h)
  std::vector<std::filesystem::path> pictures;  // folders of photographs, beside the scenes
  double picture_share = 0.5;                   // of the pool, where there are any
  int64_t pool = 1000;                          // pictures in memory that crops are cut from
  int64_t fresh = 4;                            // of them that give way to new ones at every step
  int64_t pool_size = 320;                      // a scene's side, and a photograph's short side
  double grounds = 0.25;                        // share of crops that start from a bare ground
  double smallest_crop = 0.1;                   // of a pool picture's area, at least
  double flip = 0.5;                            // share of crops that are mirrored
  int64_t pastes = 2;                           // cut-outs pasted over a crop, at most
  double jitter = 0.3;                          // of brightness and contrast; a third of it of each colour's
  double mixup = 0.2;  // parameter of the Beta distribution that weighs two crops; 0: none

  // the steps, one schedule over all of them: "STEPSxBATCH@SIZE", crops of SIZE x SIZE; small ones first
  std::vector<std::string> phase = {"2000x64@128"};
  double temperature = 2;           // of the loss; see distill_loss.h
  double pooled = 0.2;              // weight of the pictures' own logits in it
  std::string optimizer = "adamw";  // or "sgd"
  double lr = 2e-3;                 // peak
  double momentum = 0.9;            // of sgd
  double weight_decay = 0.02;       // of kernels and matrices
  int64_t warmup = 200;             // steps, at most a tenth of all
  double clip = 1.0;                // of the gradient's norm
  double ema = 0.998;               // decay of the weights' moving average, which is what validates; 0: none
  int64_t val_scenes = 200;         // scenes to validate on, of the last phase's size
  int64_t val_every = 200;          // steps; a divisor of all
  uint64_t seed = 1;

  // not part of what makes two runs the same
  double save_seconds = 120;  // how often the run's state is saved, for resuming
  std::string licence;        // of the model that is written; empty: "that of the teacher's weights"
};

struct DistillPhase {
  int64_t steps = 0, batch = 0, size = 0;
};
// "3000x64@128" -> {3000, 64, 128}. Throws ArgumentError.
DistillPhase phase_from_text(const std::string& text);

// The recipe's phases, checked: every size a multiple of `stride`. Throws ArgumentError.
std::vector<DistillPhase> phases_of(const DistillRecipe& recipe, int64_t stride);

// Throws ArgumentError for a value that is out of range or no known name.
void check(const DistillRecipe& recipe);

// What makes two runs the same: all of it but the weights' place and the last lines.
nlohmann::json to_json(const DistillRecipe& recipe);

}  // namespace gaze::models
