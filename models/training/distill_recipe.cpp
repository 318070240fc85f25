#include "models/training/distill_recipe.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "models/training/recipe_checks.h"

namespace gaze::models {
namespace {

constexpr const char* kOp = "train distill";

void check_least(const char* name, int64_t value, int64_t least) {
  check_that(value >= least, kOp, fmt::format("{} >= {}", name, least), fmt::format("{} {}", name, value));
}

}  // namespace

DistillPhase phase_from_text(const std::string& text) {
  static const std::regex form("([0-9]{1,9})x([0-9]{1,5})@([0-9]{1,4})");
  std::smatch parts;
  const bool fits = std::regex_match(text, parts, form);
  check_that(fits, kOp, "phase STEPSxBATCH@SIZE, such as 3000x64@128", fmt::format("\"{}\"", text));
  const DistillPhase phase{std::stoll(parts[1]), std::stoll(parts[2]), std::stoll(parts[3])};
  check_that(phase.steps > 0 && phase.batch > 0 && phase.size > 0, kOp, "phase STEPSxBATCH@SIZE, all above 0",
             fmt::format("\"{}\"", text));
  return phase;
}

std::vector<DistillPhase> phases_of(const DistillRecipe& recipe, int64_t stride) {
  std::vector<DistillPhase> phases;
  int64_t steps = 0;
  for (const std::string& text : recipe.phase) {
    phases.push_back(phase_from_text(text));
    steps += phases.back().steps;
    check_that(phases.back().size % stride == 0, kOp,
               fmt::format("phases with sizes that are multiples of {}, the networks' stride", stride),
               fmt::format("\"{}\"", text));
  }
  check_that(!phases.empty(), kOp, "a phase at least", "none");
  check_that(steps % recipe.val_every == 0, kOp,
             fmt::format("val_every, a divisor of the {} steps of all phases", steps),
             fmt::format("val_every {}", recipe.val_every));
  return phases;
}

void check(const DistillRecipe& recipe) {
  detail::check_name(kOp, "init", recipe.init, {"paper", "identity"});
  detail::check_name(kOp, "optimizer", recipe.optimizer, {"adamw", "sgd"});
  detail::check_range(kOp, "picture_share", recipe.picture_share, 0, 1);
  detail::check_range(kOp, "grounds", recipe.grounds, 0, 1);
  detail::check_range(kOp, "smallest_crop", recipe.smallest_crop, 0.01, 1);
  detail::check_range(kOp, "flip", recipe.flip, 0, 1);
  detail::check_range(kOp, "jitter", recipe.jitter, 0, 0.9);
  detail::check_range(kOp, "mixup", recipe.mixup, 0, 1);
  detail::check_range(kOp, "pooled", recipe.pooled, 0, 1);
  detail::check_range(kOp, "momentum", recipe.momentum, 0, 0.999);
  detail::check_range(kOp, "ema", recipe.ema, 0, 0.99999);
  detail::check_range(kOp, "pool_size", static_cast<double>(recipe.pool_size), 64, 2048);
  check_least("pool", recipe.pool, 1);
  check_least("fresh", recipe.fresh, 0);
  check_least("pastes", recipe.pastes, 0);
  check_least("val_scenes", recipe.val_scenes, 1);
  check_least("val_every", recipe.val_every, 1);
  check_that(recipe.lr > 0 && recipe.temperature > 0 && recipe.clip > 0, kOp,
             "lr, temperature and clip above 0",
             fmt::format("lr {}, temperature {}, clip {}", recipe.lr, recipe.temperature, recipe.clip));
}

nlohmann::json to_json(const DistillRecipe& recipe) {
  std::vector<std::string> folders;
  for (const std::filesystem::path& folder : recipe.pictures) folders.push_back(folder.string());
  return {{"teacher", recipe.teacher},
          {"backbone", recipe.backbone},
          {"slots", recipe.slots},
          {"module", recipe.module},
          {"init", recipe.init},
          {"pictures", folders},
          {"picture-share", recipe.picture_share},
          {"pool", recipe.pool},
          {"fresh", recipe.fresh},
          {"pool-size", recipe.pool_size},
          {"grounds", recipe.grounds},
          {"smallest-crop", recipe.smallest_crop},
          {"flip", recipe.flip},
          {"pastes", recipe.pastes},
          {"jitter", recipe.jitter},
          {"mixup", recipe.mixup},
          {"phase", recipe.phase},
          {"temperature", recipe.temperature},
          {"pooled", recipe.pooled},
          {"optimizer", recipe.optimizer},
          {"lr", recipe.lr},
          {"momentum", recipe.momentum},
          {"weight-decay", recipe.weight_decay},
          {"warmup", recipe.warmup},
          {"clip", recipe.clip},
          {"ema", recipe.ema},
          {"val-scenes", recipe.val_scenes},
          {"val-every", recipe.val_every},
          {"seed", recipe.seed}};
}

}  // namespace gaze::models
