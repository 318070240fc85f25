#include "models/training/distill_recipe.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(DistillRecipe, phases_are_steps_batch_and_size) {
  const DistillPhase phase = phase_from_text("3000x64@128");
  EXPECT_EQ(phase.steps, 3000);
  EXPECT_EQ(phase.batch, 64);
  EXPECT_EQ(phase.size, 128);
  for (const char* text :
       {"", "3000", "3000x64", "x64@128", "3000x64@", "3000*64@128", "-1x64@128", "3x4@128 "}) {
    EXPECT_THROWS_WITH(phase_from_text(text), ArgumentError,
                       std::string("[train distill] expected phase STEPSxBATCH@SIZE, such as 3000x64@128; "
                                   "got \"") +
                           text + "\"");
  }
  EXPECT_THROWS_WITH(phase_from_text("0x4@64"), ArgumentError,
                     "[train distill] expected phase STEPSxBATCH@SIZE, all above 0; got \"0x4@64\"");
}

TEST(DistillRecipe, phases_fit_the_stride_and_the_validations) {
  DistillRecipe recipe;
  recipe.phase = {"300x64@96", "100x32@128"};
  recipe.val_every = 100;
  const std::vector<DistillPhase> phases = phases_of(recipe, 32);
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[1].size, 128);
  recipe.val_every = 300;
  EXPECT_THROWS_WITH(phases_of(recipe, 32), ArgumentError,
                     "[train distill] expected val_every, a divisor of the 400 steps of all phases; got "
                     "val_every 300");
  recipe.phase = {"300x64@100"};
  EXPECT_THROWS_WITH(phases_of(recipe, 32), ArgumentError,
                     "[train distill] expected phases with sizes that are multiples of 32, the networks' "
                     "stride; got \"300x64@100\"");
  recipe.phase = {};
  EXPECT_THROWS_WITH(phases_of(recipe, 32), ArgumentError,
                     "[train distill] expected a phase at least; got none");
}

TEST(DistillRecipe, says_which_value_is_out_of_range) {
  const auto fails = [](const std::function<void(DistillRecipe&)>& change, const std::string& text) {
    DistillRecipe recipe;
    change(recipe);
    EXPECT_THROWS_WITH(check(recipe), ArgumentError, "[train distill] " + text);
  };
  check(DistillRecipe{});
  fails([](auto& r) { r.init = "papr"; },
        "unknown init \"papr\"; did you mean \"paper\"? known: paper, identity");
  fails([](auto& r) { r.optimizer = "adam"; },
        "unknown optimizer \"adam\"; did you mean \"adamw\"? known: adamw, sgd");
  fails([](auto& r) { r.picture_share = 2; }, "expected picture_share 0 to 1; got picture_share 2");
  fails([](auto& r) { r.grounds = -1; }, "expected grounds 0 to 1; got grounds -1");
  fails([](auto& r) { r.smallest_crop = 0; }, "expected smallest_crop 0.01 to 1; got smallest_crop 0");
  fails([](auto& r) { r.jitter = 1; }, "expected jitter 0 to 0.9; got jitter 1");
  fails([](auto& r) { r.mixup = 1.5; }, "expected mixup 0 to 1; got mixup 1.5");
  fails([](auto& r) { r.ema = 1; }, "expected ema 0 to 0.99999; got ema 1");
  fails([](auto& r) { r.pool_size = 32; }, "expected pool_size 64 to 2048; got pool_size 32");
  fails([](auto& r) { r.pool = 0; }, "expected pool >= 1; got pool 0");
  fails([](auto& r) { r.fresh = -1; }, "expected fresh >= 0; got fresh -1");
  fails([](auto& r) { r.val_every = 0; }, "expected val_every >= 1; got val_every 0");
  fails([](auto& r) { r.temperature = 0; },
        "expected lr, temperature and clip above 0; got lr 0.002, temperature 0, clip 1");
}

TEST(DistillRecipe, json_has_what_makes_two_runs_the_same) {
  DistillRecipe one, other;
  other.save_seconds = 1;
  other.licence = "MIT";
  other.weights = "elsewhere.pth";
  EXPECT_EQ(to_json(one), to_json(other));
  other.phase.emplace_back("1x1@32");
  EXPECT_NE(to_json(one), to_json(other));
}

}  // namespace
}  // namespace gaze::models
