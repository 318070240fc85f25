#include "modules/core/activation_tap.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

TEST(ActivationTap, without_one_nothing_is_touched) {
  const at::Tensor x = torch::ones({1, 2, 3, 3});
  EXPECT_TRUE(ActivationTap::pass("a", x).is_same(x));
}

TEST(ActivationTap, what_is_kept_is_not_written_over) {
  const ActivationTap tap({"a"});
  const at::Tensor x = torch::ones({1, 2, 3, 3});
  ActivationTap::pass("a", x).mul_(5);
  EXPECT_TRUE(tap.value("a").equal(torch::ones({1, 2, 3, 3})));
  EXPECT_TRUE(ActivationTap::pass("b", x).is_same(x));
  EXPECT_EQ(tap.places().size(), 2);
  EXPECT_THROWS_WITH(ActivationTap({"c"}).value("a"), ArgumentError,
                     "[tap] expected a place that is wanted; got a");
}

// y = (3 x)^2 with both places wanted: the gradients of each, through one graph.
TEST(ActivationTap, gradients_reach_every_wanted_place) {
  const ActivationTap tap({"x", "3x"});
  const at::Tensor x = ActivationTap::pass("x", torch::full({1}, 2.0));
  const at::Tensor y = ActivationTap::pass("3x", 3 * x).square();
  const auto gradients = torch::autograd::grad({y}, {tap.value("x"), tap.value("3x")});
  EXPECT_DOUBLE_EQ(gradients[0].item<double>(), 36);
  EXPECT_DOUBLE_EQ(gradients[1].item<double>(), 12);
}

TEST(ActivationTap, the_innermost_sees) {
  const ActivationTap outer({"a"});
  {
    const ActivationTap inner;
    ActivationTap::pass("a", torch::ones({1}));
    EXPECT_EQ(inner.places().size(), 1);
  }
  EXPECT_TRUE(outer.places().empty());
  ActivationTap::pass("a", torch::ones({1}));
  EXPECT_EQ(outer.places().size(), 1);
}

}  // namespace
}  // namespace gaze
