// What a captioner is trained from and how; a recipe file is this struct as JSON, its keys the long flags of
// `gaze train caption`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gaze::models {

struct CaptionRecipe {
  // the network
  std::string backbone = "efficientnet_lite0";
  std::filesystem::path weights;              // its ImageNet weights, bare or in a model file; frozen
  std::string slots = "blocks.[12-15].attn";  // the slots that are filled: a pattern of name_pattern.h
  // what goes into them; "none" for nothing. Slots that a model file brings filled stay as they are: the
  // third stage trains those instead, unless this is "none".
  std::string module = "cbam";
  int64_t size = 320;  // the model's input, squashed to size x size

  // the scenes
  uint64_t seed = 1;
  int64_t scenes = 6000;  // composed once, by seed
  int64_t val_scenes = 300;
  int64_t min_objects = 1, max_objects = 3;
  double close_ups = 0.4;  // share of one-object scenes that are close-ups
  double rename = 0.8;     // share of uses in which a scene's classes are renamed (see caption_batch.h)

  // the decoder
  std::string decoder = "transformer";                 // or "lstm": with additive attention
  int64_t width = 256, max_tokens = 24;                // width of a word
  int64_t heads = 8, layers = 2, feed_forward = 1024;  // of "transformer"
  int64_t hidden = 512, attention = 256;               // of "lstm"
  double dropout = 0.1;
  double doubly_stochastic = 0.1;  // weight of doubly_stochastic_loss(), of "lstm"

  // first and second stage: added to the class evidence's logits, its standard deviation 0 to this: a cell's
  // own in the first, a scene's own in the second, there by cell and by patch
  double noise = 1.0;

  // first stage: the extra classes of the evidence, on cells whose owner is known (see caption_batch.h)
  int64_t noun_steps = 1500;
  int64_t noun_batch = 512;  // cells
  double noun_lr = 1e-3;
  double noun_dropout = 0.3;  // of the logits they are read from

  // second stage: the decoder alone, on the frozen network's class evidence
  int64_t epochs = 20;
  int64_t batch = 32;
  double lr = 1e-3;
  double weight_decay = 0.01;
  int64_t warmup = 200;  // steps
  double label_smoothing = 0.1;
  double clip = 1.0;  // of the gradient's norm

  // third stage: the slots' blocks with the decoder (at a tenth of the rate), on pictures; the loss adds that
  // of cells whose owner is known, and `keep` x the divergence of the class evidence from the frozen
  // network's
  int64_t slot_epochs = 1;
  int64_t slot_scenes = 2000;  // the first of the scenes
  int64_t slot_batch = 16;
  double slot_lr = 2e-3;
  double keep = 1.0;

  // not part of what makes two runs the same
  double save_seconds = 60;  // how often the run's state is saved, for resuming
  std::string licence = "BSD-3-Clause; the network's Apache-2.0";  // of the model that is written
};

// What makes two runs the same: all of it but the weights' place and the last lines.
nlohmann::json to_json(const CaptionRecipe& recipe);

}  // namespace gaze::models
