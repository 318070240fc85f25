#include "modules/ops/linear_attend/linear_attend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "modules/core/error.h"
#include "modules/ops/linear_attend/linear_attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "tests/modules/ops/linear_attend/linear_attend_reference.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::FeatureMap;
using ops::kLinearAttendMaxError;
using ops::linear_attend;
using ops::LinearAttendOptions;
using test::expect_near;
using test::linear_attend_options;
using test::linear_attend_reference;

class LinearAttend : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, LinearAttend, test::every_cpu_isa(), test::cpu_isa_of);

// q = 1 and k = (0, ln ½, 1) in elu + 1: φ = 2 and (1, ½, 2), weights (2, 1, 4) / 7.
TEST_P(LinearAttend, known_numbers) {
  const at::Tensor q = at::ones({1, 1, 1, 1}), k = at::tensor({0.0, std::log(0.5), 1.0}).view({1, 1, 3, 1});
  const at::Tensor v = at::tensor({7.0F, 14.0F, 21.0F}).view({1, 1, 3, 1});
  EXPECT_NEAR(linear_attend(q, k.to(at::kFloat), v).item<float>(), (2 * 7 + 14 + 4 * 21) / 7.0, 1e-5);
  // ReLU lets the third key through alone.
  EXPECT_EQ(linear_attend(q, k.to(at::kFloat), v, {}, {FeatureMap::relu, false, {}, {}}).item<float>(), 21);
  // One random feature w = 1, scale 1: weights exp(k - k²/2).
  const LinearAttendOptions random{FeatureMap::positive_random, false, at::ones({1, 1}), 1.0};
  const double half = std::exp(std::log(0.5) - std::log(0.5) * std::log(0.5) / 2), one = std::exp(0.5);
  EXPECT_NEAR(linear_attend(q, k.to(at::kFloat), v, {}, random).item<float>(),
              (7 + half * 14 + one * 21) / (1 + half + one), 1e-5);
}

TEST_P(LinearAttend, causal_known_numbers) {
  const at::Tensor q = at::ones({1, 1, 2, 1}), k = at::tensor({1.0F, 3.0F, 4.0F}).view({1, 1, 3, 1});
  LinearAttendOptions options{FeatureMap::relu, true, {}, {}};
  // Two queries over three keys: they see two and three of them.
  const at::Tensor got = linear_attend(q, k, k, {}, options).flatten();
  EXPECT_FLOAT_EQ(got[0].item<float>(), (1 + 9) / 4.0F);
  EXPECT_FLOAT_EQ(got[1].item<float>(), (1 + 9 + 16) / 8.0F);
  // Three queries over one key: two see none.
  const at::Tensor few =
      linear_attend(at::ones({1, 1, 3, 1}), k.narrow(2, 2, 1), k.narrow(2, 2, 1), {}, options);
  EXPECT_TRUE(at::equal(few.flatten(), at::tensor({0.0F, 0.0F, 4.0F})));
}

TEST_P(LinearAttend, a_denominator_of_zero_gives_zeros) {
  const at::Tensor ones = at::ones({1, 1, 1, 2}), below = -ones;
  const LinearAttendOptions relu{FeatureMap::relu, false, {}, {}};
  EXPECT_TRUE(at::equal(linear_attend(ones, below, ones, {}, relu), at::zeros({1, 1, 1, 2})));
  EXPECT_TRUE(at::equal(linear_attend(below, ones, ones, {}, relu), at::zeros({1, 1, 1, 2})));
  torch::manual_seed(1);
  for (const FeatureMap map : test::kFeatureMaps)
    for (const bool causal : {false, true}) {
      const auto options = linear_attend_options(map, causal, 2);
      const at::Tensor q = at::randn({2, 3, 4, 2}), k = at::randn({2, 3, 5, 2});
      const at::Tensor none = at::zeros({2, 5}, at::kBool);
      EXPECT_TRUE(at::equal(linear_attend(q, k, k, none, options), at::zeros_like(q)));
      const at::Tensor empty = at::zeros({2, 3, 0, 2});
      EXPECT_TRUE(at::equal(linear_attend(q, empty, empty, {}, options), at::zeros_like(q)));
      EXPECT_EQ(linear_attend(empty, k, k, {}, options).sizes(), at::IntArrayRef({2, 3, 0, 2}));
    }
}

struct Shape {
  int64_t B, N, T, S, D, V;
};

class LinearAttendReference : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, LinearAttendReference, test::every_dtype_and_cpu_isa(),
                         test::dtype_and_cpu_isa_of);

TEST_P(LinearAttendReference, agrees_over_awkward_shapes_and_masks) {
  const double bound = kLinearAttendMaxError.of(dtype());
  torch::manual_seed(1);
  double worst = 0;
  for (const Shape& z :
       {Shape{1, 1, 1, 1, 1, 1}, Shape{2, 3, 5, 7, 3, 5}, Shape{1, 2, 17, 49, 32, 32},
        Shape{0, 2, 3, 4, 2, 2}, Shape{2, 0, 3, 4, 2, 2}, Shape{2, 2, 0, 3, 4, 4}, Shape{2, 2, 3, 0, 4, 4},
        Shape{1, 2, 6, 3, 4, 1}, Shape{1, 1, 3, 1000, 8, 2}, Shape{2, 2, 33, 65, 17, 16},
        Shape{1, 1, 130, 129, 15, 0}, Shape{1, 1, 200, 64, 64, 63}, Shape{5, 14, 3, 70, 2, 2}})
    for (const FeatureMap map : test::kFeatureMaps)
      for (const bool causal : {false, true})
        for (const bool masked : {false, true}) {
          const auto random = [&](int64_t rows, int64_t width) {
            return at::randn({z.B, z.N, rows, width}).clamp_(-5, 5).to(dtype());
          };
          const at::Tensor q = random(z.T, z.D), k = random(z.S, z.D), v = random(z.S, z.V);
          const at::Tensor mask = masked ? at::rand({z.B, z.S}) > 0.3 : at::Tensor();
          const auto options = linear_attend_options(map, causal, z.D);
          const std::string context =
              fmt::format("map {}, causal {}, masked {}, B {} N {} T {} S {} D {} V {}",
                          static_cast<int>(map), causal, masked, z.B, z.N, z.T, z.S, z.D, z.V);
          const at::Tensor got = linear_attend(q, k, v, mask, options);
          const at::Tensor expected = linear_attend_reference(q, k, v, mask, options);
          EXPECT_EQ(got.scalar_type(), dtype());
          expect_near(got, expected, bound, context);
          worst = std::max(worst, test::relative_error(got, expected));
          if (map == FeatureMap::positive_random) continue;
          const at::Tensor composed =
              detail::linear_attend_composed(q, k, v, detail::given(mask), static_cast<int64_t>(map), causal);
          expect_near(composed, expected, bound, context + ", composed");
        }
  RecordProperty("largest_error", fmt::format("{}", worst));
}

TEST_P(LinearAttendReference, agrees_on_views) {
  torch::manual_seed(2);
  const at::Tensor q = at::randn({2, 5, 3, 4}).to(dtype()).transpose(1, 2);  // [2, 3, 5, 4]
  const at::Tensor k = at::randn({1, 3, 6, 8}).to(dtype()).slice(3, 0, 8, 2).expand({2, 3, 6, 4});
  const at::Tensor v = at::randn({2, 3, 4, 6}).to(dtype()).transpose(2, 3);  // [2, 3, 6, 4]
  const at::Tensor mask = (at::rand({12, 2}) > 0.4).t().slice(1, 0, 12, 2);  // [2, 6]
  for (const FeatureMap map : test::kFeatureMaps)
    for (const bool causal : {false, true}) {
      const auto options = linear_attend_options(map, causal, 4);
      expect_near(linear_attend(q, k, v, mask, options), linear_attend_reference(q, k, v, mask, options),
                  kLinearAttendMaxError.of(dtype()), "views");
    }
}

TEST_P(LinearAttendReference, agrees_on_200_random_cases) {
  torch::manual_seed(3);
  double worst = 0;
  for (int64_t number = 0; number < 200; ++number) {
    const auto any = test::random_case(number, dtype());
    const at::Tensor expected = linear_attend_reference(any.q, any.k, any.v, any.mask, any.options);
    const at::Tensor got = run(any);
    expect_near(got, expected, kLinearAttendMaxError.of(dtype()), any.text);
    worst = std::max(worst, test::relative_error(got, expected));
  }
  RecordProperty("largest_error", fmt::format("{}", worst));
}

TEST_P(LinearAttend, half_is_summed_in_float) {
  // 4096 keys of equal weight and of value 1: a sum in float16 would stop growing at 2048.
  const at::Tensor q = at::zeros({1, 1, 4096, 1}, at::kHalf), k = at::ones({1, 1, 4096, 1}, at::kHalf);
  for (const bool causal : {false, true}) {
    const at::Tensor got = linear_attend(q, k, k, {}, {FeatureMap::elu_plus_one, causal, {}, {}});
    EXPECT_TRUE(at::equal(got, k));
  }
}

TEST_P(LinearAttend, causal_with_a_cache_sees_all_that_came_before) {
  torch::manual_seed(4);
  const at::Tensor q = at::randn({1, 2, 6, 4}), k = at::randn({1, 2, 6, 4}), v = at::randn({1, 2, 6, 4});
  for (const FeatureMap map : test::kFeatureMaps) {
    const auto causal = linear_attend_options(map, true, 4);
    const at::Tensor all = linear_attend(q, k, v, {}, causal);
    for (int64_t t = 0; t < 6; ++t) {
      const at::Tensor step =
          linear_attend(q.narrow(2, t, 1), k.narrow(2, 0, t + 1), v.narrow(2, 0, t + 1), {}, causal);
      expect_near(step, all.narrow(2, t, 1), 1e-5, fmt::format("step {}", t));
    }
  }
}

TEST(LinearAttendDispatcher, is_called_by_name) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("gaze::linear_attend", "");
  torch::manual_seed(5);
  const at::Tensor q = at::randn({2, 2, 3, 4}), k = at::randn({2, 2, 5, 4}), v = at::randn({2, 2, 5, 3});
  torch::jit::Stack stack{q, k, v, c10::IValue(), int64_t{1}, true};
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 1U);
  expect_near(stack[0].toTensor(), linear_attend_reference(q, k, v, {}, {FeatureMap::relu, true, {}, {}}),
              kLinearAttendMaxError.float32, "output");
}

TEST(LinearAttendDispatcher, meta_tensors_give_shapes) {
  const auto meta = at::TensorOptions(at::kMeta).dtype(at::kHalf);
  const at::Tensor q = at::empty({2, 3, 4, 5}, meta), k = at::empty({2, 3, 6, 5}, meta);
  LinearAttendOptions options{FeatureMap::positive_random, true, at::empty({8, 5}, meta), {}};
  for (const auto& any : {LinearAttendOptions{}, options}) {
    const at::Tensor got = linear_attend(q, k, at::empty({2, 3, 6, 7}, meta), {}, any);
    EXPECT_EQ(got.sizes(), at::IntArrayRef({2, 3, 4, 7}));
    EXPECT_EQ(got.scalar_type(), at::kHalf);
    EXPECT_TRUE(got.is_meta());
  }
}

TEST(LinearAttendDispatcher, runs_in_inference_mode) {
  const c10::InferenceMode guard;
  const at::Tensor x = at::randn({1, 1, 2, 2});
  EXPECT_EQ(linear_attend(x, x, x).sizes(), x.sizes());
}

TEST(LinearAttendErrors, name_what_was_expected_and_what_came) {
  const at::Tensor q = at::zeros({2, 3, 4, 5}), k = at::zeros({2, 3, 6, 5}), v = at::zeros({2, 3, 6, 7});
  const auto zeros = [](at::IntArrayRef shape) { return at::zeros(shape); };
  EXPECT_THROWS_WITH(linear_attend({}, k, v), ArgumentError,
                     "[linear_attend] expected q [B, N, T, D]; got q undefined");
  EXPECT_THROWS_WITH(linear_attend(q, {}, v), ArgumentError,
                     "[linear_attend] expected k [B, N, S, D]; got k undefined");
  EXPECT_THROWS_WITH(linear_attend(q, k, {}), ArgumentError,
                     "[linear_attend] expected v [B, N, S, V]; got v undefined");
  EXPECT_THROWS_WITH(linear_attend(zeros({4, 5}), k, v), ArgumentError,
                     "[linear_attend] expected q [B, N, T, D]; got q [4, 5]");
  EXPECT_THROWS_WITH(linear_attend(zeros({2, 3, 4, 0}), zeros({2, 3, 6, 0}), v), ArgumentError,
                     "[linear_attend] expected q of width D >= 1; got q [2, 3, 4, 0]");
  EXPECT_THROWS_WITH(linear_attend(q, zeros({2, 3, 6, 4}), v), ArgumentError,
                     "[linear_attend] expected k [B=2, N=3, S, D=5]; got k [2, 3, 6, 4]");
  EXPECT_THROWS_WITH(linear_attend(q, k, zeros({2, 3, 5, 7})), ArgumentError,
                     "[linear_attend] expected v [B=2, N=3, S=6, V]; got v [2, 3, 5, 7]");
  EXPECT_THROWS_WITH(linear_attend(q.to(at::kLong), k, v), ArgumentError,
                     "[linear_attend] expected q float64, float32, bfloat16 or float16; got q Long");
  EXPECT_THROWS_WITH(linear_attend(q, k.to(at::kDouble), v), ArgumentError,
                     "[linear_attend] expected k Float on cpu like q; got k Double on cpu");
  EXPECT_THROWS_WITH(linear_attend(q, k, v.to(at::kHalf)), ArgumentError,
                     "[linear_attend] expected v Float on cpu like q; got v Half on cpu");
  EXPECT_THROWS_WITH(linear_attend(q, k, v, at::ones({4, 6}, at::kBool)), ArgumentError,
                     "[linear_attend] expected mask [B=2, S=6]; got mask [4, 6]");
  EXPECT_THROWS_WITH(linear_attend(q, k, v, at::ones({2, 6})), ArgumentError,
                     "[linear_attend] expected mask bool; got mask Float");
  EXPECT_THROWS_WITH(linear_attend(q, k, v, at::empty({2, 6}, at::TensorOptions(at::kMeta).dtype(at::kBool))),
                     ArgumentError, "[linear_attend] expected mask on cpu like q; got mask on meta");
  EXPECT_THROWS_WITH(detail::call_linear_attend(q, k, v, {}, 3, false), ArgumentError,
                     "[linear_attend] expected map 0 (elu + 1), 1 (relu) or 2 (exp); got map 3");
  const auto random = [&](const at::Tensor& projection, std::optional<double> scale = {}) {
    return linear_attend(q, k, v, {}, {FeatureMap::positive_random, false, projection, scale});
  };
  EXPECT_THROWS_WITH(random({}), ArgumentError,
                     "[linear_attend] expected projection [M, D=5]; got projection undefined");
  EXPECT_THROWS_WITH(random(zeros({8, 4})), ArgumentError,
                     "[linear_attend] expected projection [M, D=5]; got projection [8, 4]");
  EXPECT_THROWS_WITH(random(zeros({0, 5})), ArgumentError,
                     "[linear_attend] expected projection with M >= 1; got projection [0, 5]");
  EXPECT_THROWS_WITH(random(at::zeros({8, 5}, at::kLong)), ArgumentError,
                     "[linear_attend] expected projection float64, float32, bfloat16 or float16; got "
                     "projection Long");
  EXPECT_THROWS_WITH(random(at::empty({8, 5}, at::TensorOptions(at::kMeta))), ArgumentError,
                     "[linear_attend] expected projection on cpu like q; got projection on meta");
  EXPECT_THROWS_WITH(random(zeros({8, 5}), -1.0), ArgumentError,
                     "[linear_attend] expected scale >= 0; got scale -1");
  EXPECT_THROWS_WITH(
      linear_attend(q, k, v, {}, {FeatureMap::relu, false, zeros({8, 5}), {}}), ArgumentError,
      "[linear_attend] expected projection and scale with positive_random alone; got one of them");
}

}  // namespace
}  // namespace gaze
