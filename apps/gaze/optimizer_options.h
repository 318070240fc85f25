// Flags of recipes that train with an optimiser's rates and a moving average of the weights.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gaze::apps {

// --optimizer, --momentum, --weight-decay, --warmup, --clip, --ema, --save-seconds; `warmup` says of what the
// steps of warm-up are at most a tenth.
template <typename Recipe>
void add_optimizer_options(CLI::App& command, Recipe& recipe, const std::string& warmup) {
  command.add_option("--optimizer", recipe.optimizer, "adamw or sgd")
      ->check(CLI::IsMember({"adamw", "sgd"}))
      ->capture_default_str();
  command.add_option("--momentum", recipe.momentum, "momentum of sgd")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  command.add_option("--weight-decay", recipe.weight_decay, "weight decay of kernels and matrices")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--warmup", recipe.warmup, "steps of warm-up, at most a tenth of " + warmup)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--clip", recipe.clip, "largest norm of a gradient")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--ema", recipe.ema,
                  "decay of the weights' moving average, which is what validates; 0 for none")
      ->check(CLI::Range(0.0, 0.99999))
      ->capture_default_str();
  command.add_option("--save-seconds", recipe.save_seconds, "how often the state is saved")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace gaze::apps
