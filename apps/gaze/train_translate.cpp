// gaze train translate: a translator from tab-separated pairs.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/gaze/command.h"
#include "apps/gaze/train.h"
#include "models/training/translation_training.h"

namespace gaze::apps {
namespace {

struct TrainTranslate {
  models::TranslationRecipe recipe;
  TrainFlags flags;
  bool no_attention = false;
};

int train(const TrainTranslate& options) {
  apply(options.flags.common);
  const models::TranslationTraining result = models::train_translation(
      options.recipe, options.flags.out, watch_training("translated to the letter"), warn);
  if (options.flags.json) {
    std::cout << nlohmann::json{{"model", result.model.string()},
                                {"val_loss", result.val_loss},
                                {"val_exact", result.val_exact}}
                     .dump()
              << "\n";
  } else {
    std::cout << fmt::format("{}: {:.1f} % of the validation pairs translated to the letter\n",
                             result.model.string(), 100 * result.val_exact);
  }
  return kOk;
}

void add_data_options(CLI::App& command, models::TranslationRecipe& recipe) {
  const auto tokens = CLI::IsMember({"character", "word_punctuation"});
  command.add_option("--data", recipe.data, "pairs to train on: source, tab, target; a pair a line");
  command.add_option("--val-data", recipe.val_data, "pairs to validate on; unless given a share of --data");
  command.add_option("--val-share", recipe.val_share, "that share")
      ->check(CLI::Range(0.001, 0.5))
      ->capture_default_str();
  command.add_option("--source-tokens", recipe.source_tokens, "what the source is cut into")
      ->check(tokens)
      ->capture_default_str();
  command.add_option("--target-tokens", recipe.target_tokens, "and the target")
      ->check(tokens)
      ->capture_default_str();
  command.add_option("--min-count", recipe.min_count, "tokens that are rarer are unknown")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--max-tokens", recipe.max_tokens,
                  "pairs with a text of this many tokens or more are left out")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
}

void add_network_options(CLI::App& command, models::TranslationRecipe& recipe) {
  command.add_option("--encoder", recipe.encoder, "reads the source")
      ->check(CLI::IsMember({"lstm", "gru", "bidirectional_lstm", "bidirectional_gru", "transformer"}))
      ->capture_default_str();
  command.add_option("--decoder", recipe.decoder, "writes the target")
      ->check(CLI::IsMember({"lstm", "gru"}))
      ->capture_default_str();
  command.add_option("--score", recipe.score, "of a state and an encoder's output")
      ->check(CLI::IsMember({"additive", "dot", "general", "scaled_dot"}))
      ->capture_default_str();
  command.add_option("--fusion", recipe.fusion, "of a state and what it looked at")
      ->check(CLI::IsMember({"concatenation", "addition", "gate"}))
      ->capture_default_str();
  command.add_option("--embedding", recipe.embedding, "width of a token")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--width", recipe.width, "width of the states, even")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--layers", recipe.layers, "of the encoder")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--heads", recipe.heads, "of a Transformer encoder")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--dropout", recipe.dropout, "dropout")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
}

void add_training_options(CLI::App& command, models::TranslationRecipe& recipe) {
  command.add_option("--epochs", recipe.epochs, "times every pair is seen")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--batch", recipe.batch, "pairs a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--lr", recipe.lr, "peak learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--weight-decay", recipe.weight_decay, "AdamW's weight decay")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--warmup", recipe.warmup, "steps of warm-up")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--label-smoothing", recipe.label_smoothing, "label smoothing")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  command.add_option("--clip", recipe.clip, "largest norm of a gradient")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--licence", recipe.licence, "what the written model may be used under");
  command.add_option("--save-seconds", recipe.save_seconds, "how often the state is saved")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace

void add_train_translate(CLI::App& train_app, Run& run) {
  auto options = std::make_shared<TrainTranslate>();
  CLI::App* command = train_app.add_subcommand(
      "translate",
      "Trains a translator with attention on pairs of texts; run it again to go on after it was stopped.\n\n"
      "Example:\n  gaze data pairs --kind dates --out out/dates.tsv --count 20000\n"
      "  gaze train translate --data out/dates.tsv --out out/dates");
  models::TranslationRecipe& recipe = options->recipe;
  add_train_flags(*command, options->flags);
  add_data_options(*command, recipe);
  add_network_options(*command, recipe);
  command->add_flag("--no-attention", options->no_attention,
                    "read every token from one summary of the source instead, to compare");
  add_training_options(*command, recipe);
  train_when_chosen(*command, options->flags, run, [options] {
    if (options->recipe.data.empty())
      throw UsageError("--data: give a file of pairs (gaze data pairs writes some)");
    options->recipe.seed = options->flags.common.seed;
    options->recipe.attention = !options->no_attention;
    return train(*options);
  });
}

}  // namespace gaze::apps
