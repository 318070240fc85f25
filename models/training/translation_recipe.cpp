#include "models/training/translation_recipe.h"

#include <nlohmann/json.hpp>

namespace gaze::models {

nlohmann::json to_json(const TranslationRecipe& recipe) {
  return {{"data", recipe.data.string()},
          {"val-data", recipe.val_data.string()},
          {"val-share", recipe.val_share},
          {"source-tokens", recipe.source_tokens},
          {"target-tokens", recipe.target_tokens},
          {"min-count", recipe.min_count},
          {"max-tokens", recipe.max_tokens},
          {"encoder", recipe.encoder},
          {"decoder", recipe.decoder},
          {"no-attention", !recipe.attention},
          {"score", recipe.score},
          {"fusion", recipe.fusion},
          {"embedding", recipe.embedding},
          {"width", recipe.width},
          {"layers", recipe.layers},
          {"heads", recipe.heads},
          {"dropout", recipe.dropout},
          {"seed", recipe.seed},
          {"epochs", recipe.epochs},
          {"batch", recipe.batch},
          {"lr", recipe.lr},
          {"weight-decay", recipe.weight_decay},
          {"warmup", recipe.warmup},
          {"label-smoothing", recipe.label_smoothing},
          {"clip", recipe.clip}};
}

}  // namespace gaze::models
