// gaze train caption: a captioner from composed scenes.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "apps/gaze/train.h"
#include "models/training/caption_training.h"

namespace gaze::apps {
namespace {

struct TrainCaption {
  models::CaptionRecipe recipe;
  TrainFlags flags;
};

int train(const TrainCaption& options) {
  apply(options.flags.common);
  const models::TrainingResult result =
      models::train_caption(options.recipe, options.flags.out, watch_training("all nouns right"));
  if (options.flags.json) {
    std::cout << nlohmann::json{{"model", result.model.string()},
                                {"val_nouns", result.val_nouns},
                                {"val_loss", result.val_loss}}
                     .dump()
              << "\n";
  } else {
    std::cout << fmt::format("{}: all nouns right in {:.1f} % of the validation scenes\n",
                             result.model.string(), 100 * result.val_nouns);
  }
  return kOk;
}

}  // namespace

void add_train_caption(CLI::App& train_app, Run& run) {
  auto options = std::make_shared<TrainCaption>();
  CLI::App* command = train_app.add_subcommand(
      "caption",
      "Trains a captioner on composed scenes; run it again to go on after it was stopped.\n\nExample:\n"
      "  gaze train caption --recipe weights/recipes/lite0-cbam-caption.json --out out/caption");
  models::CaptionRecipe& recipe = options->recipe;
  add_train_flags(*command, options->flags);

  command->add_option("--backbone", recipe.backbone, "network whose class evidence is read")
      ->capture_default_str();
  command->add_option("--weights", recipe.weights, "its ImageNet weights: bare ones or a model file of it");
  command->add_option("--slots", recipe.slots, "pattern of the slots that are filled")->capture_default_str();
  command->add_option("--module", recipe.module, "what goes into them; none for nothing")
      ->capture_default_str();
  command->add_option("--size", recipe.size, "side of the model's input")
      ->check(CLI::Range(32, 1024))
      ->capture_default_str();
  command->add_option("--scenes", recipe.scenes, "scenes to train on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--val-scenes", recipe.val_scenes, "scenes to validate on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--min-objects", recipe.min_objects, "objects a scene, at least")
      ->check(CLI::Range(1, 3))
      ->capture_default_str();
  command->add_option("--max-objects", recipe.max_objects, "objects a scene, at most")
      ->check(CLI::Range(1, 3))
      ->capture_default_str();
  command->add_option("--close-ups", recipe.close_ups, "share of one-object scenes that are close-ups")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--noise", recipe.noise, "largest deviation of the noise on the class evidence")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command->add_option("--rename", recipe.rename, "share of uses that rename the classes")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--decoder", recipe.decoder,
                   "transformer, or lstm: an LSTM with additive attention (Xu et al. 2015)")
      ->check(CLI::IsMember({"transformer", "lstm"}))
      ->capture_default_str();
  command->add_option("--width", recipe.width, "the decoder's width: that of a word")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--heads", recipe.heads, "the Transformer's heads")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--layers", recipe.layers, "its layers")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--feed-forward", recipe.feed_forward, "width of its feed-forward layers")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--hidden", recipe.hidden, "the LSTM's state")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--attention", recipe.attention, "width in which its state and cells are compared")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--doubly-stochastic", recipe.doubly_stochastic,
                   "weight of its loss that asks every cell to be looked at about once")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--max-tokens", recipe.max_tokens, "longest caption, end included")
      ->check(CLI::Range(2, 256))
      ->capture_default_str();
  command->add_option("--dropout", recipe.dropout, "dropout")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command
      ->add_option("--noun-steps", recipe.noun_steps,
                   "steps of the first stage: nouns the network has no class for")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--noun-batch", recipe.noun_batch, "cells a step of it")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--noun-lr", recipe.noun_lr, "its peak learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--noun-dropout", recipe.noun_dropout, "dropout of the logits it reads")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command->add_option("--epochs", recipe.epochs, "epochs of the second stage: the decoder alone")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--batch", recipe.batch, "its batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--lr", recipe.lr, "its peak learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--weight-decay", recipe.weight_decay, "AdamW's weight decay")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--warmup", recipe.warmup, "steps of warm-up")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--label-smoothing", recipe.label_smoothing, "label smoothing")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  command->add_option("--clip", recipe.clip, "largest norm of a gradient")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--slot-epochs", recipe.slot_epochs, "epochs of the third stage: slots and decoder")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--slot-scenes", recipe.slot_scenes, "scenes of the third stage")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--slot-batch", recipe.slot_batch, "its batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--slot-lr", recipe.slot_lr, "its peak learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--keep", recipe.keep, "weight of keeping the class evidence as it was")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--licence", recipe.licence, "what the written model may be used under")
      ->capture_default_str();
  command->add_option("--save-seconds", recipe.save_seconds, "how often the state is saved")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();

  train_when_chosen(*command, options->flags, run, [options] {
    if (options->recipe.weights.empty())
      throw UsageError(
          "--weights: give the ImageNet weights of the backbone (weights/fetch gets EfficientNet-Lite0's)");
    options->recipe.seed = options->flags.common.seed;
    return train(*options);
  });
}

}  // namespace gaze::apps
