#include "modules/core/check.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "tests/support/throws_with.h"

namespace gaze {
namespace {

TEST(Check, shape_names_expected_and_actual) {
  const at::Tensor x = at::empty({8, 64});
  EXPECT_THROWS_WITH(check_shape(x, "x", {"B", "C", "H", "W"}, "cbam"), ArgumentError,
                     "[cbam] expected x [B, C, H, W]; got x [8, 64]");
  EXPECT_THROWS_WITH(check_shape(x, "x", {"B", {"C", 32}}, "se"), ArgumentError,
                     "[se] expected x [B, C=32]; got x [8, 64]");
  EXPECT_THROWS_WITH(check_shape(at::Tensor(), "bias", {"C"}, "se"), ArgumentError,
                     "[se] expected bias [C]; got bias undefined");
  EXPECT_NO_THROW(check_shape(x, "x", {"B", {"C", 64}}, "se"));
}

TEST(Check, floating_names_the_dtype) {
  EXPECT_THROWS_WITH(check_floating(at::empty({1}, at::kLong), "x", "se"), ArgumentError,
                     "[se] expected x float64, float32, bfloat16 or float16; got x Long");
  EXPECT_NO_THROW(check_floating(at::empty({1}, at::kHalf), "x", "se"));
}

TEST(Check, like_names_both_tensors) {
  EXPECT_THROWS_WITH(check_like(at::empty({1}, at::kDouble), "w", at::empty({1}), "x", "se"), ArgumentError,
                     "[se] expected w Float on cpu like x; got w Double on cpu");
}

TEST(Check, that_states_both_sides) {
  EXPECT_THROWS_WITH(check_that(false, "se", "reduction >= 1", "reduction 0"), ArgumentError,
                     "[se] expected reduction >= 1; got reduction 0");
}

TEST(Check, unknown_names_the_near_miss) {
  EXPECT_THROWS_WITH(fail_unknown("registry", "module", "cbm", {"se", "cbam"}), ArgumentError,
                     "[registry] unknown module \"cbm\"; did you mean \"cbam\"? known: se, cbam");
  EXPECT_THROWS_WITH(fail_unknown("registry", "module", "transformer", {"se", "cbam"}), ArgumentError,
                     "[registry] unknown module \"transformer\"; known: se, cbam");
}

TEST(FileError, names_path_problem_and_next_step) {
  const FileError error("a.jpg", "is empty", "copy it again");
  EXPECT_STREQ(error.what(), "a.jpg: is empty; copy it again");
  EXPECT_EQ(error.path(), "a.jpg");
}

}  // namespace
}  // namespace gaze
