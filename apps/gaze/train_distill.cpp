// gaze train distill: a network learns another's class evidence.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "apps/gaze/optimizer_options.h"
#include "apps/gaze/train.h"
#include "models/backbone/backbone.h"
#include "models/training/distill_training.h"

namespace gaze::apps {
namespace {

struct TrainDistill {
  models::DistillRecipe recipe;
  TrainFlags flags;
};

int train(const TrainDistill& options) {
  apply(options.flags.common);
  const models::DistillResult result =
      models::train_distill(options.recipe, options.flags.out, {watch_training("the teacher's class"), warn});
  if (options.flags.json) {
    std::cout << nlohmann::json{{"model", result.model.string()},
                                {"val_agreement", result.val_agreement},
                                {"val_loss", result.val_loss}}
                     .dump()
              << "\n";
  } else {
    std::cout << fmt::format("{}: the teacher's class in {:.1f} % of the validation scenes\n",
                             result.model.string(), 100 * result.val_agreement);
  }
  return kOk;
}

void add_network_flags(CLI::App& command, models::DistillRecipe& recipe) {
  command.add_option("--weights", recipe.weights, "the teacher's weights: bare ones or a model file of it");
  command.add_option("--teacher", recipe.teacher, "the network that teaches")
      ->check(CLI::IsMember(models::backbone_names()))
      ->capture_default_str();
  command.add_option("--backbone", recipe.backbone, "the network that learns, from random weights")
      ->check(CLI::IsMember(models::backbone_names()))
      ->capture_default_str();
  command.add_option("--slots", recipe.slots, "pattern of its slots that are filled")->capture_default_str();
  command.add_option("--module", recipe.module, "what goes into them; none for nothing")
      ->capture_default_str();
  command.add_option("--init", recipe.init, "how the blocks start: paper or identity")
      ->check(CLI::IsMember({"paper", "identity"}))
      ->capture_default_str();
}

void add_picture_flags(CLI::App& command, models::DistillRecipe& recipe) {
  command
      .add_option("--pictures", recipe.pictures,
                  "folder of photographs to cut crops from, beside the scenes; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--picture-share", recipe.picture_share, "their share of the pool, where there are any")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--pool", recipe.pool, "pictures in memory that crops are cut from")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--fresh", recipe.fresh, "of them that give way to new ones at every step")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--pool-size", recipe.pool_size, "side of its scenes, short side of its photographs")
      ->check(CLI::Range(64, 2048))
      ->capture_default_str();
  command.add_option("--grounds", recipe.grounds, "share of crops that start from a bare ground")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--smallest-crop", recipe.smallest_crop, "crops: at least this share of a pool picture")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  command.add_option("--flip", recipe.flip, "share of crops that are mirrored")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--pastes", recipe.pastes, "cut-outs pasted over a crop, at most")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--jitter", recipe.jitter, "change of brightness, contrast and colour")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command.add_option("--mixup", recipe.mixup, "mixing of two crops: Beta(mixup, mixup); 0 for none")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

void add_step_flags(CLI::App& command, models::DistillRecipe& recipe) {
  command
      .add_option(
          "--phase", recipe.phase,
          "STEPSxBATCH@SIZE: so many steps of so many crops of that side; may be repeated, the phases "
          "follow each other under one schedule")
      ->take_all()
      ->allow_extra_args(false)
      ->capture_default_str();
  command.add_option("--temperature", recipe.temperature, "softens both networks' classes in the loss")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--pooled", recipe.pooled, "weight of the pictures' own logits; the cells' is the rest")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--lr", recipe.lr, "peak learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--val-scenes", recipe.val_scenes, "scenes to validate on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--val-every", recipe.val_every, "steps between validations, a divisor of all steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_optimizer_options(command, recipe, "all");
  command.add_option("--licence", recipe.licence,
                     "what the written model may be used under; else that of the teacher's weights");
}

}  // namespace

void add_train_distill(CLI::App& train_app, Run& run) {
  auto options = std::make_shared<TrainDistill>();
  CLI::App* command = train_app.add_subcommand(
      "distill",
      "Trains a network to give a frozen network's class evidence, on crops of composed scenes and of your "
      "photographs; run it again to go on after it was stopped.\n\nExample:\n"
      "  gaze train distill --recipe weights/recipes/resnet18-cbam-distill.json --weights "
      "weights/cache/efficientnet_lite0.pth --out out/resnet18\n"
      "  gaze classify tests/photos --model out/resnet18/model.safetensors");
  add_train_flags(*command, options->flags);
  add_network_flags(*command, options->recipe);
  add_picture_flags(*command, options->recipe);
  add_step_flags(*command, options->recipe);
  train_when_chosen(*command, options->flags, run, [options] {
    if (options->recipe.weights.empty())
      throw UsageError("--weights: give the teacher's weights (weights/fetch gets EfficientNet-Lite0's)");
    options->recipe.seed = options->flags.common.seed;
    return train(*options);
  });
}

}  // namespace gaze::apps
