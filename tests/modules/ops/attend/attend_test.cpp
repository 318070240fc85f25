#include "modules/ops/attend/attend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "modules/core/error.h"
#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::Attended;
using ops::AttendOptions;
using ops::AttendWeights;
using ops::kAttendMaxError;
using test::expect_near;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

AttendOptions with_weights(bool causal = false) {
  AttendOptions options;
  options.weights = AttendWeights::per_head;
  options.causal = causal;
  return options;
}

// The formula, a scalar at a time. `mask` is undefined, bool or floating.
Attended reference(const at::Tensor& q_any, const at::Tensor& k_any, const at::Tensor& v_any,
                   const at::Tensor& mask, double scale, bool causal) {
  const at::Tensor q = q_any.to(at::kDouble), k = k_any.to(at::kDouble), v = v_any.to(at::kDouble);
  const int64_t B = q.size(0), N = q.size(1), T = q.size(2), S = k.size(2), D = q.size(3), V = v.size(3);
  at::Tensor added = at::zeros({B, N, T, S}, at::kDouble);
  if (mask.defined() && mask.scalar_type() == at::kBool)
    added = added.masked_fill(mask.logical_not(), -kInfinity);
  if (mask.defined() && mask.scalar_type() != at::kBool) added = added + mask.to(at::kDouble);
  Attended result{at::zeros({B, N, T, V}, at::kDouble), at::zeros({B, N, T, S}, at::kDouble)};
  const auto q_at = q.accessor<double, 4>(), k_at = k.accessor<double, 4>(), v_at = v.accessor<double, 4>();
  const auto added_at = added.accessor<double, 4>();
  auto output_at = result.output.accessor<double, 4>(), weights_at = result.weights.accessor<double, 4>();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t t = 0; t < T; ++t) {
        std::vector<double> scores(S);
        double largest = -kInfinity, sum = 0;
        for (int64_t s = 0; s < S; ++s) {
          double dot = 0;
          for (int64_t d = 0; d < D; ++d) dot += q_at[b][n][t][d] * k_at[b][n][s][d];
          scores[s] = dot * scale + added_at[b][n][t][s];
          if (causal && s > t + S - T) scores[s] = -kInfinity;
          largest = std::max(largest, scores[s]);
        }
        if (largest == -kInfinity) continue;
        for (int64_t s = 0; s < S; ++s) sum += std::exp(scores[s] - largest);
        for (int64_t s = 0; s < S; ++s) {
          const double weight = std::exp(scores[s] - largest) / sum;
          weights_at[b][n][t][s] = weight;
          for (int64_t d = 0; d < V; ++d) output_at[b][n][t][d] += weight * v_at[b][n][s][d];
        }
      }
  return result;
}

at::Tensor worked_query() {
  return at::tensor({0.6, 0.4}, at::kDouble).view({1, 1, 1, 2});
}
at::Tensor worked_memory() {
  return at::tensor({0.9, 0.1, 0.3, 0.7, 0.1, 0.9}, at::kDouble).view({1, 1, 3, 2});
}

class Attend : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, Attend, test::every_cpu_isa(), test::cpu_isa_of);

// "I love cats": scores .410 .325 .297, weights .356 .327 .318, context .450 .550.
TEST_P(Attend, worked_example) {
  const at::Tensor memory = worked_memory();
  const Attended got = ops::attend(worked_query(), memory, memory, {}, with_weights());
  const double scores[3] = {0.58 / std::sqrt(2.0), 0.46 / std::sqrt(2.0), 0.42 / std::sqrt(2.0)};
  const double printed_scores[3] = {0.410, 0.325, 0.297}, printed_weights[3] = {0.356, 0.327, 0.318};
  const auto weights = got.weights.flatten();
  for (int64_t s = 0; s < 3; ++s) {
    EXPECT_NEAR(scores[s], printed_scores[s], 5e-4);
    EXPECT_NEAR(weights[s].item<double>(), printed_weights[s], 5e-4);
    // The op's scores are the logarithms of its weights, up to one constant.
    EXPECT_NEAR(std::log(weights[s].item<double>() / weights[0].item<double>()), scores[s] - scores[0],
                1e-12);
  }
  const auto context = got.output.flatten();
  EXPECT_NEAR(context[0].item<double>(), 0.450, 5e-4);
  EXPECT_NEAR(context[1].item<double>(), 0.550, 5e-4);
}

TEST_P(Attend, equal_scores_average_and_scale_is_obeyed) {
  const at::Tensor q = at::zeros({1, 1, 1, 2}), v = at::tensor({1.0F, 3.0F, 8.0F}).view({1, 1, 3, 1});
  EXPECT_FLOAT_EQ(ops::attend(q, at::randn({1, 1, 3, 2}), v).output.item<float>(), 4.0F);
  AttendOptions options = with_weights();
  options.scale = std::log(3.0);
  const at::Tensor one = at::ones({1, 1, 1, 1}), k = at::tensor({1.0F, 0.0F}).view({1, 1, 2, 1});
  EXPECT_NEAR(ops::attend(one, k, k, {}, options).weights[0][0][0][0].item<float>(), 0.75F, 1e-6F);
}

struct Shape {
  int64_t B, N, T, S, D, V;
};

class AttendReference : public test::OnDtypeAndCpuIsa {};

TEST_P(AttendReference, agrees_over_awkward_shapes_and_masks) {
  const at::ScalarType dtype = this->dtype();
  const double bound = kAttendMaxError.of(dtype);
  const at::ScalarType map_dtype = dtype == at::kDouble ? at::kDouble : at::kFloat;
  torch::manual_seed(1);
  double worst = 0;
  for (const Shape& z : {Shape{1, 1, 1, 1, 1, 1}, Shape{2, 3, 5, 7, 3, 5}, Shape{1, 8, 17, 49, 32, 32},
                         Shape{0, 2, 3, 4, 2, 2}, Shape{2, 2, 0, 3, 4, 4}, Shape{2, 2, 3, 0, 4, 4},
                         Shape{1, 2, 6, 3, 4, 1}, Shape{1, 1, 3, 1000, 8, 2}, Shape{2, 2, 33, 65, 17, 16}}) {
    const at::Tensor q = (at::randn({z.B, z.N, z.T, z.D}) * 2).to(dtype),
                     k = at::randn({z.B, z.N, z.S, z.D}).to(dtype);
    const at::Tensor v = at::randn({z.B, z.N, z.S, z.V}).to(dtype);
    std::vector<std::pair<std::string, at::Tensor>> masks{
        {"no mask", {}},
        {"padding", at::rand({z.B, 1, 1, z.S}) > 0.3},
        {"bool", at::rand({z.T, z.S}) > 0.5},
        {"nothing to see", at::zeros({z.T, z.S}, at::kBool)},
        {"additive", at::randn({1, z.N, z.T, z.S}).to(dtype)},
        {"additive with -inf",
         at::where(at::rand({z.T, z.S}) > 0.5, at::zeros({1}), at::full({1}, -kInfinity))},
    };
    for (const auto& [name, mask] : masks) {
      for (const bool causal : {false, true}) {
        const std::string context = fmt::format("{}, B {} N {} T {} S {} D {} V {}, causal {}", name, z.B,
                                                z.N, z.T, z.S, z.D, z.V, causal);
        const Attended got = ops::attend(q, k, v, mask, with_weights(causal));
        const Attended expected = reference(q, k, v, mask, 1 / std::sqrt(double(z.D)), causal);
        EXPECT_EQ(got.output.scalar_type(), dtype);
        EXPECT_EQ(got.weights.scalar_type(), map_dtype);
        expect_near(got.output, expected.output, bound, context);
        expect_near(got.weights, expected.weights, bound, context);
        worst = std::max({worst, test::relative_error(got.output, expected.output),
                          test::relative_error(got.weights, expected.weights)});
        const Attended bare = ops::attend(q, k, v, mask, {std::nullopt, causal, AttendWeights::none});
        EXPECT_FALSE(bare.weights.defined());
        EXPECT_TRUE(at::equal(bare.output, got.output)) << context;
        const Attended mean = ops::attend(q, k, v, mask, {std::nullopt, causal, AttendWeights::head_mean});
        expect_near(mean.weights, expected.weights.mean(1), bound, context);
        const auto [composed, composed_weights, composed_log_sum_exp] =
            detail::attend_composed(q, k, v, detail::given(mask), std::nullopt, causal, 1);
        expect_near(composed, expected.output, bound, context + ", composed");
        expect_near(composed_weights, expected.weights, bound, context + ", composed");
        const auto log_sum_exp =
            std::get<2>(detail::call_attend(q, k, v, detail::given(mask), std::nullopt, causal, 0));
        const at::Tensor empty_rows = at::isinf(composed_log_sum_exp);
        EXPECT_TRUE(at::equal(at::isinf(log_sum_exp), empty_rows)) << context;
        expect_near(log_sum_exp.masked_fill(empty_rows, 0), composed_log_sum_exp.masked_fill(empty_rows, 0),
                    bound, context);
        EXPECT_TRUE(at::equal(mean.output, got.output)) << context;
      }
    }
  }
  RecordProperty("largest_error", fmt::format("{}", worst));
}

TEST_P(AttendReference, agrees_on_views) {
  const at::ScalarType dtype = this->dtype();
  torch::manual_seed(2);
  const at::Tensor q = at::randn({2, 5, 3, 4}).to(dtype).transpose(1, 2);  // [2, 3, 5, 4]
  const at::Tensor k = at::randn({1, 3, 6, 8}).to(dtype).slice(3, 0, 8, 2).expand({2, 3, 6, 4});
  const at::Tensor v = at::randn({2, 3, 4, 6}).to(dtype).transpose(2, 3);  // [2, 3, 6, 4]
  const Attended got = ops::attend(q, k, v, {}, with_weights());
  const Attended expected = reference(q, k, v, {}, 0.5, false);
  expect_near(got.output, expected.output, kAttendMaxError.of(dtype), "views");
  expect_near(got.weights, expected.weights, kAttendMaxError.of(dtype), "views");
}

INSTANTIATE_TEST_SUITE_P(, AttendReference, test::every_dtype_and_cpu_isa(), test::dtype_and_cpu_isa_of);

TEST_P(Attend, large_scores_do_not_overflow) {
  const at::Tensor q = at::full({1, 1, 1, 1}, 3e4F), k = at::tensor({1.0F, 2.0F, -5.0F}).view({1, 1, 3, 1});
  const Attended got = ops::attend(q, k, k, {}, with_weights());
  EXPECT_TRUE(at::equal(got.weights.flatten(), at::tensor({0.0F, 1.0F, 0.0F})));
  EXPECT_EQ(got.output.item<float>(), 2.0F);
}

TEST_P(Attend, half_is_summed_in_float) {
  // 4096 equal weights of 1/4096 times 1: a sum in float16 would stop growing at 0.5.
  const at::Tensor q = at::zeros({1, 1, 1, 1}, at::kHalf), k = at::ones({1, 1, 4096, 1}, at::kHalf);
  EXPECT_EQ(ops::attend(q, k, k).output.item<float>(), 1.0F);
}

TEST_P(Attend, causal_with_a_cache_sees_all_that_came_before) {
  const at::Tensor q = at::randn({1, 2, 6, 4}), k = at::randn({1, 2, 6, 4}), v = at::randn({1, 2, 6, 4});
  AttendOptions causal;
  causal.causal = true;
  const at::Tensor all = ops::attend(q, k, v, {}, causal).output;
  for (int64_t t = 0; t < 6; ++t) {
    const at::Tensor step =
        ops::attend(q.narrow(2, t, 1), k.narrow(2, 0, t + 1), v.narrow(2, 0, t + 1), {}, causal).output;
    expect_near(step, all.narrow(2, t, 1), 1e-6, fmt::format("step {}", t));
  }
}

TEST(AttendBackward, agrees_with_central_differences) {
  torch::manual_seed(3);
  const auto random = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
  const std::vector<at::Tensor> qkv{random({2, 2, 3, 3}), random({2, 2, 4, 3}), random({2, 2, 4, 2})};
  const auto both = [](const Attended& got) { return std::vector<at::Tensor>{got.output, got.weights}; };
  test::expect_gradients(
      [&](const auto& in) { return both(ops::attend(in[0], in[1], in[2], {}, with_weights())); }, qkv,
      "output and weights");
  test::expect_gradients(
      [&](const auto& in) { return std::vector<at::Tensor>{ops::attend(in[0], in[1], in[2]).output}; }, qkv,
      "output alone");
  test::expect_gradients(
      [&](const auto& in) { return both(ops::attend(in[0], in[1], in[2], {}, with_weights(true))); }, qkv,
      "causal");
  at::Tensor mask = at::rand({2, 1, 3, 4}) > 0.4;
  mask[0][0][1].fill_(false);
  AttendOptions scaled = with_weights();
  scaled.scale = 0.7;
  test::expect_gradients([&](const auto& in) { return both(ops::attend(in[0], in[1], in[2], mask, scaled)); },
                         qkv, "bool mask with an empty row");
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 2, 3, 4}, {1, 2, 1, 4}, {3, 4}, {4}}) {
    std::vector<at::Tensor> inputs = qkv;
    inputs.push_back(random(shape));
    test::expect_gradients(
        [&](const auto& in) { return both(ops::attend(in[0], in[1], in[2], in[3], with_weights())); }, inputs,
        fmt::format("additive mask of {} dimensions", shape.size()));
  }
}

TEST(AttendBackward, weights_alone_carry_gradient) {
  torch::manual_seed(4);
  const std::vector<at::Tensor> qk{at::randn({1, 2, 3, 2}, at::kDouble),
                                   at::randn({1, 2, 4, 2}, at::kDouble)};
  const at::Tensor v = at::randn({1, 2, 4, 2}, at::kDouble);
  test::expect_gradients(
      [&](const auto& in) {
        return std::vector<at::Tensor>{ops::attend(in[0], in[1], v, {}, with_weights()).weights};
      },
      qk, "weights");
  AttendOptions mean;
  mean.weights = AttendWeights::head_mean;
  test::expect_gradients(
      [&](const auto& in) {
        const Attended got = ops::attend(in[0], in[1], v, {}, mean);
        return std::vector<at::Tensor>{got.output, got.weights};
      },
      qk, "output and mean over heads");
}

TEST(AttendBackward, a_masked_row_has_zero_gradient_not_nan) {
  const at::Tensor q = at::randn({1, 1, 2, 3}).requires_grad_(true),
                   k = at::randn({1, 1, 4, 3}).requires_grad_(true);
  const at::Tensor v = at::randn({1, 1, 4, 3}).requires_grad_(true);
  ops::attend(q, k, v, at::zeros({2, 4}, at::kBool)).output.sum().backward();
  for (const at::Tensor& x : {q, k, v}) EXPECT_TRUE(at::equal(x.grad(), at::zeros_like(x)));
}

TEST(AttendBackward, half_types_follow_float) {
  torch::manual_seed(5);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    std::vector<at::Tensor> narrow, wide;
    for (int i = 0; i < 3; ++i) {
      const at::Tensor x = at::randn({2, 2, 5, 4}).to(dtype);
      narrow.push_back(x.clone().requires_grad_(true));
      wide.push_back(x.to(at::kDouble).requires_grad_(true));
    }
    ops::attend(narrow[0], narrow[1], narrow[2]).output.sum().backward();
    ops::attend(wide[0], wide[1], wide[2]).output.sum().backward();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(narrow[i].grad().scalar_type(), dtype);
      expect_near(narrow[i].grad(), wide[i].grad(), kAttendMaxError.of(dtype), c10::toString(dtype));
    }
  }
}

TEST(AttendBackward, is_deterministic) {
  torch::manual_seed(6);
  const at::Tensor q = at::randn({4, 8, 32, 16}).requires_grad_(true),
                   k = at::randn({4, 8, 49, 16}).requires_grad_(true);
  const auto gradients = [&] {
    return torch::autograd::grad({ops::attend(q, k, k).output.square().sum()}, {q, k});
  };
  const auto first = gradients(), second = gradients();
  EXPECT_TRUE(at::equal(first[0], second[0]) && at::equal(first[1], second[1]));
}

TEST(AttendBackward, twice_is_an_error_not_a_wrong_number) {
  const at::Tensor q = at::randn({1, 1, 2, 2}).requires_grad_(true);
  const auto first = torch::autograd::grad({ops::attend(q, q, q).output.sum()}, {q}, {}, true, true);
  EXPECT_THROW(torch::autograd::grad({first[0].sum()}, {q}), std::exception);
}

TEST(AttendDispatcher, is_called_by_name) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("gaze::attend", "");
  const at::Tensor q = at::randn({1, 2, 3, 4}), k = at::randn({1, 2, 5, 4}), v = at::randn({1, 2, 5, 2});
  torch::jit::Stack stack{q, k, v, c10::IValue(), c10::IValue(), false, int64_t{1}};
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 3U);
  const Attended expected = reference(q, k, v, {}, 0.5, false);
  expect_near(stack[0].toTensor(), expected.output, kAttendMaxError.float32, "output");
  expect_near(stack[1].toTensor(), expected.weights, kAttendMaxError.float32, "weights");
  const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) * 0.5;
  expect_near(stack[2].toTensor(), scores.logsumexp(3), 1e-6, "natural log-sum-exp");
}

TEST(AttendDispatcher, meta_tensors_give_shapes) {
  const auto meta = at::TensorOptions(at::kMeta).dtype(at::kHalf);
  const Attended got = ops::attend(at::empty({2, 3, 4, 5}, meta), at::empty({2, 3, 6, 5}, meta),
                                   at::empty({2, 3, 6, 7}, meta), {}, with_weights());
  EXPECT_EQ(got.output.sizes(), at::IntArrayRef({2, 3, 4, 7}));
  EXPECT_EQ(got.weights.sizes(), at::IntArrayRef({2, 3, 4, 6}));
  EXPECT_EQ(got.output.scalar_type(), at::kHalf);
  EXPECT_EQ(got.weights.scalar_type(), at::kFloat);
  EXPECT_TRUE(got.output.is_meta());
  const Attended mean =
      ops::attend(at::empty({2, 3, 4, 5}, meta), at::empty({2, 3, 6, 5}, meta), at::empty({2, 3, 6, 7}, meta),
                  {}, {std::nullopt, false, AttendWeights::head_mean});
  EXPECT_EQ(mean.weights.sizes(), at::IntArrayRef({2, 4, 6}));
}

TEST(AttendDispatcher, runs_in_inference_mode) {
  const c10::InferenceMode guard;
  const at::Tensor x = at::randn({1, 1, 2, 2});
  EXPECT_EQ(ops::attend(x, x, x).output.sizes(), x.sizes());
}

TEST(AttendErrors, name_what_was_expected_and_what_came) {
  const at::Tensor q = at::zeros({2, 3, 4, 5}), k = at::zeros({2, 3, 6, 5}), v = at::zeros({2, 3, 6, 7});
  const auto zeros = [](at::IntArrayRef shape) { return at::zeros(shape); };
  EXPECT_THROWS_WITH(ops::attend({}, k, v), ArgumentError,
                     "[attend] expected q [B, N, T, D]; got q undefined");
  EXPECT_THROWS_WITH(ops::attend(q, {}, v), ArgumentError,
                     "[attend] expected k [B, N, S, D]; got k undefined");
  EXPECT_THROWS_WITH(ops::attend(q, k, {}), ArgumentError,
                     "[attend] expected v [B, N, S, V]; got v undefined");
  EXPECT_THROWS_WITH(ops::attend(zeros({4, 5}), k, v), ArgumentError,
                     "[attend] expected q [B, N, T, D]; got q [4, 5]");
  EXPECT_THROWS_WITH(ops::attend(zeros({2, 3, 4, 0}), zeros({2, 3, 6, 0}), v), ArgumentError,
                     "[attend] expected q of width D >= 1; got q [2, 3, 4, 0]");
  EXPECT_THROWS_WITH(ops::attend(q, zeros({2, 3, 6, 4}), v), ArgumentError,
                     "[attend] expected k [B=2, N=3, S, D=5]; got k [2, 3, 6, 4]");
  EXPECT_THROWS_WITH(ops::attend(q, k, zeros({2, 3, 5, 7})), ArgumentError,
                     "[attend] expected v [B=2, N=3, S=6, V]; got v [2, 3, 5, 7]");
  EXPECT_THROWS_WITH(ops::attend(q.to(at::kLong), k, v), ArgumentError,
                     "[attend] expected q float64, float32, bfloat16 or float16; got q Long");
  EXPECT_THROWS_WITH(ops::attend(q, k.to(at::kDouble), v), ArgumentError,
                     "[attend] expected k Float on cpu like q; got k Double on cpu");
  EXPECT_THROWS_WITH(ops::attend(q, k, v.to(at::kHalf)), ArgumentError,
                     "[attend] expected v Float on cpu like q; got v Half on cpu");
  EXPECT_THROWS_WITH(ops::attend(q, k, v, at::ones({4, 6}, at::kLong)), ArgumentError,
                     "[attend] expected mask bool or floating; got mask Long");
  EXPECT_THROWS_WITH(ops::attend(q, k, v, at::ones({6, 4}, at::kBool)), ArgumentError,
                     "[attend] expected mask broadcastable to [B, N, T, S] = [2, 3, 4, 6]; got mask [6, 4]");
  EXPECT_THROWS_WITH(ops::attend(q, k, v, at::empty({4, 6}, at::TensorOptions(at::kMeta))), ArgumentError,
                     "[attend] expected mask on cpu like q; got mask on meta");
  EXPECT_THROWS_WITH(
      detail::call_attend(q, k, v, {}, {}, false, 3), ArgumentError,
      "[attend] expected weights 0 (none), 1 (per head) or 2 (mean over heads); got weights 3");
}

}  // namespace
}  // namespace gaze
