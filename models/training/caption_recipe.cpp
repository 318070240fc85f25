#include "models/training/caption_recipe.h"

#include <nlohmann/json.hpp>

namespace gaze::models {

nlohmann::json to_json(const CaptionRecipe& recipe) {
  return {{"backbone", recipe.backbone},
          {"slots", recipe.slots},
          {"module", recipe.module},
          {"size", recipe.size},
          {"seed", recipe.seed},
          {"scenes", recipe.scenes},
          {"val-scenes", recipe.val_scenes},
          {"min-objects", recipe.min_objects},
          {"max-objects", recipe.max_objects},
          {"close-ups", recipe.close_ups},
          {"rename", recipe.rename},
          {"decoder", recipe.decoder},
          {"width", recipe.width},
          {"heads", recipe.heads},
          {"layers", recipe.layers},
          {"feed-forward", recipe.feed_forward},
          {"hidden", recipe.hidden},
          {"attention", recipe.attention},
          {"doubly-stochastic", recipe.doubly_stochastic},
          {"max-tokens", recipe.max_tokens},
          {"dropout", recipe.dropout},
          {"noun-steps", recipe.noun_steps},
          {"noun-batch", recipe.noun_batch},
          {"noun-lr", recipe.noun_lr},
          {"noun-dropout", recipe.noun_dropout},
          {"noise", recipe.noise},
          {"epochs", recipe.epochs},
          {"batch", recipe.batch},
          {"lr", recipe.lr},
          {"weight-decay", recipe.weight_decay},
          {"warmup", recipe.warmup},
          {"label-smoothing", recipe.label_smoothing},
          {"clip", recipe.clip},
          {"slot-epochs", recipe.slot_epochs},
          {"slot-scenes", recipe.slot_scenes},
          {"slot-batch", recipe.slot_batch},
          {"slot-lr", recipe.slot_lr},
          {"keep", recipe.keep}};
}

}  // namespace gaze::models
