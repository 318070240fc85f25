#include "models/training/classify_recipe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(ClassifyRecipe, insertions_are_split_at_the_first_equals_sign) {
  const Insertion insertion = insertion_from_text("layer[34].*.attn=se(reduction=8)+cbam(kernel=3)");
  EXPECT_EQ(insertion.pattern, "layer[34].*.attn");
  EXPECT_EQ(insertion.spec, "se(reduction=8)+cbam(kernel=3)");
  for (const char* text : {"layer4.0.attn", "=se", "layer4.0.attn=", ""}) {
    EXPECT_THROWS_WITH(insertion_from_text(text), ArgumentError,
                       std::string("[train classify] expected insert PATTERN=SPEC, such as "
                                   "layer4.*.attn=se(reduction=16); got \"") +
                           text + "\"");
  }
}

TEST(ClassifyRecipe, says_which_value_is_out_of_range) {
  const auto fails = [](const std::function<void(ClassifyRecipe&)>& change, const std::string& text) {
    ClassifyRecipe recipe;
    change(recipe);
    EXPECT_THROWS_WITH(check(recipe), ArgumentError, "[train classify] " + text);
  };
  check(ClassifyRecipe{});
  fails([](auto& r) { r.init = "identty"; },
        "unknown init \"identty\"; did you mean \"identity\"? known: identity, paper");
  fails([](auto& r) { r.norms = "x"; }, "unknown norms \"x\"; known: frozen, trained");
  fails([](auto& r) { r.optimizer = "adam"; },
        "unknown optimizer \"adam\"; did you mean \"adamw\"? known: adamw, sgd");
  fails([](auto& r) { r.size = 16; }, "expected size 0 or at least 32; got size 16");
  fails([](auto& r) { r.mixup = 1.5; }, "expected mixup 0 to 1; got mixup 1.5");
  fails([](auto& r) { r.ema = 1; }, "expected ema 0 to 0.99999; got ema 1");
  fails([](auto& r) { r.smallest_crop = 0; }, "expected smallest_crop 0.01 to 1; got smallest_crop 0");
  fails([](auto& r) { r.flip = 2; }, "expected flip 0 to 1; got flip 2");
  fails([](auto& r) { r.label_smoothing = 0.9; },
        "expected label_smoothing 0 to 0.5; got label_smoothing 0.9");
  fails([](auto& r) { r.momentum = 1; }, "expected momentum 0 to 0.999; got momentum 1");
  fails([](auto& r) { r.batch = 0; }, "expected batch >= 1; got batch 0");
  fails([](auto& r) { r.lr = 0; }, "expected lr > 0 and network_lr >= 0; got lr 0, network_lr 0.0002");
  fails([](auto& r) { r.epochs = r.block_epochs = 0; },
        "expected an epoch at least; got block_epochs 0, epochs 0");
  fails([](auto& r) { r.insert = {"se"}; },
        "expected insert PATTERN=SPEC, such as layer4.*.attn=se(reduction=16); got \"se\"");
}

TEST(ClassifyRecipe, json_has_what_makes_two_runs_the_same) {
  ClassifyRecipe one, other;
  other.save_seconds = 1;
  other.licence = "MIT";
  EXPECT_EQ(to_json(one), to_json(other));
  other.insert = {"layer4.*.attn=se"};
  EXPECT_NE(to_json(one), to_json(other));
}

}  // namespace
}  // namespace gaze::models
