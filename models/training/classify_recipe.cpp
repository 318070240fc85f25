#include "models/training/classify_recipe.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/training/recipe_checks.h"

namespace gaze::models {
namespace {

constexpr const char* kOp = "train classify";

}  // namespace

void check(const ClassifyRecipe& recipe) {
  for (const std::string& text : recipe.insert) insertion_from_text(text);
  detail::check_name(kOp, "init", recipe.init, {"identity", "paper"});
  detail::check_name(kOp, "norms", recipe.norms, {"frozen", "trained"});
  detail::check_name(kOp, "optimizer", recipe.optimizer, {"adamw", "sgd"});
  check_that(recipe.size == 0 || recipe.size >= 32, kOp, "size 0 or at least 32",
             fmt::format("size {}", recipe.size));
  detail::check_range(kOp, "smallest_crop", recipe.smallest_crop, 0.01, 1);
  detail::check_range(kOp, "flip", recipe.flip, 0, 1);
  detail::check_range(kOp, "mixup", recipe.mixup, 0, 1);
  detail::check_range(kOp, "label_smoothing", recipe.label_smoothing, 0, 0.5);
  detail::check_range(kOp, "momentum", recipe.momentum, 0, 0.999);
  detail::check_range(kOp, "ema", recipe.ema, 0, 0.99999);
  check_that(recipe.batch >= 1, kOp, "batch >= 1", fmt::format("batch {}", recipe.batch));
  check_that(recipe.lr > 0 && recipe.network_lr >= 0, kOp, "lr > 0 and network_lr >= 0",
             fmt::format("lr {}, network_lr {}", recipe.lr, recipe.network_lr));
  check_that(recipe.block_epochs >= 0 && recipe.epochs >= 0 && recipe.block_epochs + recipe.epochs > 0, kOp,
             "an epoch at least",
             fmt::format("block_epochs {}, epochs {}", recipe.block_epochs, recipe.epochs));
}

nlohmann::json to_json(const ClassifyRecipe& recipe) {
  return {{"insert", recipe.insert},
          {"init", recipe.init},
          {"size", recipe.size},
          {"val-share", recipe.val_share},
          {"smallest-crop", recipe.smallest_crop},
          {"flip", recipe.flip},
          {"mixup", recipe.mixup},
          {"label-smoothing", recipe.label_smoothing},
          {"block-epochs", recipe.block_epochs},
          {"epochs", recipe.epochs},
          {"norms", recipe.norms},
          {"batch", recipe.batch},
          {"optimizer", recipe.optimizer},
          {"lr", recipe.lr},
          {"network-lr", recipe.network_lr},
          {"momentum", recipe.momentum},
          {"weight-decay", recipe.weight_decay},
          {"warmup", recipe.warmup},
          {"clip", recipe.clip},
          {"ema", recipe.ema},
          {"seed", recipe.seed}};
}

Insertion insertion_from_text(const std::string& text) {
  const size_t equals = text.find('=');
  check_that(equals != std::string::npos && equals > 0 && equals + 1 < text.size(), kOp,
             "insert PATTERN=SPEC, such as layer4.*.attn=se(reduction=16)", fmt::format("\"{}\"", text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace gaze::models
