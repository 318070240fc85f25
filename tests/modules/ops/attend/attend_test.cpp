#include "modules/ops/attend/attend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "modules/core/error.h"
#include "modules/ops/attend/attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "tests/modules/ops/attend/attend_reference.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::Attended;
using ops::AttendOptions;
using ops::AttendWeights;
using ops::kAttendMaxError;
using test::attend_reference;
using test::expect_near;
using test::kInfinity;
using test::with_weights;

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

// -inf belongs to queries without a key, on both sides.
void expect_log_sums(const at::Tensor& got, const at::Tensor& expected, double bound,
                     const std::string& context) {
  const at::Tensor empty = at::isinf(expected);
  EXPECT_TRUE(at::equal(at::isinf(got), empty)) << context;
  expect_near(got.masked_fill(empty, 0), expected.masked_fill(empty, 0), bound, context);
}

// Everything but output and weights, whose tests stand beside.
void expect_statistics(const Attended& got, const Attended& expected, double bound,
                       const std::string& context) {
  expect_log_sums(got.log_sum_exp, expected.log_sum_exp, bound, context + ", log-sum-exp");
  expect_near(got.key_sums, expected.key_sums, bound, context + ", key sums");
  expect_near(got.entropy, expected.entropy, bound, context + ", entropy");
}

// The door of the composed room, which has no kernel to hide behind.
Attended composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                  const AttendOptions& o) {
  const bool added = mask.defined() && mask.is_floating_point();
  const detail::AttendInputs in{q,
                                k,
                                v,
                                detail::given(added ? at::Tensor() : mask),
                                detail::given(added ? mask : o.bias),
                                detail::given(o.key_mask),
                                detail::given(o.relative),
                                detail::given(o.row_bias),
                                detail::given(o.column_bias)};
  const auto [output, log_sum_exp, weights, key_sums, entropy] =
      detail::attend_composed(in, {o.scale, o.causal, o.relative_inside, o.dropout, o.seed},
                              {o.weights, o.rows, o.key_sums, o.entropy});
  return {output, weights, log_sum_exp, key_sums, entropy};
}

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
        AttendOptions all = with_weights(causal);
        all.key_sums = all.entropy = true;
        const Attended expected = attend_reference(q, k, v, mask, all);
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
        EXPECT_TRUE(at::equal(mean.output, got.output)) << context;
        expect_statistics(ops::attend(q, k, v, mask, all), expected, bound, context);
        const Attended plain = composed(q, k, v, mask, all);
        expect_near(plain.output, expected.output, bound, context + ", composed");
        expect_near(plain.weights, expected.weights, bound, context + ", composed");
        expect_statistics(plain, expected, bound, context + ", composed");
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
  const Attended expected = attend_reference(q, k, v, {});
  expect_near(got.output, expected.output, kAttendMaxError.of(dtype), "views");
  expect_near(got.weights, expected.weights, kAttendMaxError.of(dtype), "views");
}

// Every mask and bias alone and with every other: 2^6 combinations, and causal.
TEST_P(AttendReference, combines_masks_and_biases) {
  const at::ScalarType dtype = this->dtype();
  const double bound = kAttendMaxError.of(dtype);
  torch::manual_seed(11);
  for (const Shape& z : {Shape{2, 3, 5, 6, 3, 4}, Shape{1, 2, 1, 6, 4, 2}, Shape{1, 1, 9, 36, 8, 8}}) {
    const at::Tensor q = at::randn({z.B, z.N, z.T, z.D}).to(dtype),
                     k = at::randn({z.B, z.N, z.S, z.D}).to(dtype),
                     v = at::randn({z.B, z.N, z.S, z.V}).to(dtype);
    for (int choice = 0; choice < 128; ++choice) {
      AttendOptions o = with_weights((choice & 64) != 0);
      o.key_sums = o.entropy = true;
      const at::Tensor mask = choice & 1 ? at::rand({z.N, z.T, z.S}) > 0.3 : at::Tensor();
      if (choice & 2) o.bias = at::randn({z.B, 1, z.T, z.S}).to(dtype);
      if (choice & 4) o.key_mask = at::rand({z.B, z.S}) > 0.3;
      if (choice & 8) o.relative = at::randn({choice & 1 ? z.N : 1, 2 * 4 - 1}).to(dtype);
      if (choice & 16) {
        o.row_bias = at::randn({z.B, z.N, z.T, z.S / 3}).to(dtype);
        o.column_bias = at::randn({z.N, 1, 3}).to(dtype).unsqueeze(0);
      }
      o.relative_inside = (choice & 32) != 0;
      const Attended expected = attend_reference(q, k, v, mask, o);
      const std::string context = fmt::format("choice {}, T {} S {}", choice, z.T, z.S);
      for (const bool kernel : {true, false}) {
        const Attended got = kernel ? ops::attend(q, k, v, mask, o) : composed(q, k, v, mask, o);
        expect_near(got.output, expected.output, bound, context);
        expect_near(got.weights, expected.weights, bound, context);
        expect_statistics(got, expected, bound, context);
        // What may not be looked at has exactly nothing; the rest sums to 1.
        EXPECT_TRUE(at::equal(got.weights.masked_select(expected.weights == 0).abs().sum(),
                              at::zeros({}, got.weights.options())));
        const at::Tensor sums = got.weights.sum(3), full = at::isinf(expected.log_sum_exp).logical_not();
        expect_near(sums, full.to(at::kDouble), 1e-6, context + ", rows sum to 1");
      }
    }
  }
}

TEST_P(AttendReference, chosen_rows_are_those_of_all_weights) {
  torch::manual_seed(12);
  const at::Tensor q = at::randn({2, 3, 9, 4}).to(dtype()), k = at::randn({2, 3, 7, 4}).to(dtype());
  const at::Tensor all = ops::attend(q, k, k, {}, with_weights()).weights;
  AttendOptions o;
  o.weights = AttendWeights::rows;
  for (const std::vector<int64_t>& rows : {std::vector<int64_t>{8, 0, 5}, {3}, {}}) {
    o.rows = rows;
    const at::Tensor got = ops::attend(q, k, k, {}, o).weights;
    EXPECT_TRUE(at::equal(got, all.index_select(2, at::tensor(rows, at::kLong))));
    EXPECT_TRUE(at::allclose(composed(q, k, k, {}, o).weights, got, 1e-5, 1e-5));
  }
}

// More keys than a tile of the kernel holds, and one key past it.
TEST_P(AttendReference, joins_tiles) {
  torch::manual_seed(13);
  const double bound = kAttendMaxError.of(dtype());
  for (const int64_t S : {4097, 8193}) {
    const at::Tensor q = (at::randn({1, 2, 5, 3}) * 3).to(dtype()), k = at::randn({1, 2, S, 3}).to(dtype()),
                     v = at::randn({1, 2, S, 2}).to(dtype());
    for (const bool causal : {false, true}) {
      AttendOptions o = with_weights(causal);
      o.key_sums = o.entropy = true;
      o.key_mask = at::rand({1, S}) > 0.2;
      o.relative = at::randn({1, 2 * 2000 - 1}).to(dtype());
      o.dropout = 0.25;
      o.seed = 5;
      // The largest scores come last, so that earlier tiles' sums shrink.
      o.bias = at::arange(S).mul(4.0 / static_cast<double>(S));
      const Attended expected = attend_reference(q, k, v, {}, o), got = ops::attend(q, k, v, {}, o);
      const std::string context = fmt::format("S {}, causal {}", S, causal);
      expect_near(got.output, expected.output, bound, context);
      expect_near(got.weights, expected.weights, bound, context);
      expect_statistics(got, expected, bound, context);
    }
  }
}

TEST_P(AttendReference, dropout_drops_its_share_and_the_same_everywhere) {
  torch::manual_seed(14);
  const at::Tensor q = at::randn({2, 3, 33, 4}).to(dtype()), k = at::randn({2, 3, 65, 4}).to(dtype()),
                   v = at::randn({2, 3, 65, 5}).to(dtype());
  const double bound = kAttendMaxError.of(dtype());
  AttendOptions o = with_weights();
  o.dropout = 0.3;
  o.seed = 123456789012345;
  const Attended got = ops::attend(q, k, v, {}, o);
  expect_near(got.output, attend_reference(q, k, v, {}, o).output, bound, "kernel");
  expect_near(composed(q, k, v, {}, o).output, got.output, bound, "composed");
  EXPECT_TRUE(at::equal(got.weights, ops::attend(q, k, v, {}, with_weights()).weights));  // before dropout
  EXPECT_TRUE(at::equal(ops::attend(q, k, v, {}, o).output, got.output));
  o.seed += 1;
  EXPECT_FALSE(at::equal(ops::attend(q, k, v, {}, o).output, got.output));
}

INSTANTIATE_TEST_SUITE_P(, AttendReference, test::every_dtype_and_cpu_isa(), test::dtype_and_cpu_isa_of);

TEST_P(Attend, large_scores_do_not_overflow) {
  const at::Tensor q = at::full({1, 1, 1, 1}, 3e4F), k = at::tensor({1.0F, 2.0F, -5.0F}).view({1, 1, 3, 1});
  const Attended got = ops::attend(q, k, k, {}, with_weights());
  EXPECT_TRUE(at::equal(got.weights.flatten(), at::tensor({0.0F, 1.0F, 0.0F})));
  EXPECT_EQ(got.output.item<float>(), 2.0F);
}

// With equal weights and the identity as values the output is the dropout itself.
TEST_P(Attend, dropout_is_even_over_queries_keys_and_seeds) {
  const int64_t S = 256;
  AttendOptions o;
  o.dropout = 0.2;
  const at::Tensor q = at::zeros({1, 4, S, 1}), k = at::zeros({1, 4, S, 1});
  const at::Tensor v = at::eye(S).expand({1, 4, S, S});
  std::vector<at::Tensor> kept;
  for (const int64_t seed : {0, 1, -7}) {
    o.seed = seed;
    const at::Tensor factors = ops::attend(q, k, v, {}, o).output * static_cast<double>(S);
    EXPECT_TRUE(
        factors.eq(0).logical_or(at::isclose(factors, at::full_like(factors, 1.25))).all().item<bool>());
    kept.push_back(factors.gt(0).to(at::kDouble));
  }
  const auto near_share = [](const at::Tensor& share, double expected, double count) {
    const double deviation = std::sqrt(expected * (1 - expected) / count);
    EXPECT_LE((share - expected).abs().max().item<double>(), 5 * deviation);
  };
  for (const at::Tensor& x : kept) {
    near_share(x.mean(), 0.8, 4.0 * S * S);
    near_share(x.mean(at::IntArrayRef{0, 1, 2}), 0.8, 4.0 * S);                             // each key
    near_share(x.mean(at::IntArrayRef{0, 1, 3}), 0.8, 4.0 * S);                             // each query
    near_share((x.narrow(2, 0, S - 1) * x.narrow(2, 1, S - 1)).mean(), 0.64, 4.0 * S * S);  // neighbours
    near_share((x.narrow(3, 0, S - 1) * x.narrow(3, 1, S - 1)).mean(), 0.64, 4.0 * S * S);
    near_share((x.select(1, 0) * x.select(1, 1)).mean(), 0.64, 1.0 * S * S);
  }
  near_share((kept[0] * kept[1]).mean(), 0.64, 4.0 * S * S);
  near_share((kept[0] * kept[2]).mean(), 0.64, 4.0 * S * S);
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

TEST(AttendDispatcher, is_called_by_name) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("gaze::attend", "");
  const at::Tensor q = at::randn({1, 2, 3, 4}), k = at::randn({1, 2, 5, 4}), v = at::randn({1, 2, 5, 2});
  torch::jit::Stack stack{q, k, v};
  stack.insert(stack.end(), 6, c10::IValue());  // masks and biases
  stack.insert(stack.end(), {c10::IValue(), false, false, 0.0, int64_t{0}, int64_t{1}, std::vector<int64_t>{},
                             false, false});
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 5U);
  const Attended expected = attend_reference(q, k, v, {});
  expect_near(stack[0].toTensor(), expected.output, kAttendMaxError.float32, "output");
  expect_near(stack[2].toTensor(), expected.weights, kAttendMaxError.float32, "weights");
  const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) * 0.5;
  expect_near(stack[1].toTensor(), scores.logsumexp(3), 1e-6, "natural log-sum-exp");
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
  const auto weights_7 = static_cast<AttendWeights>(7);
  EXPECT_THROWS_WITH(ops::attend(q, k, v, {}, {{}, false, weights_7}), ArgumentError,
                     "[attend] expected weights 0 (none), 1 (per head), 2 (mean over heads) or 3 (rows); got "
                     "weights 7");
  AttendOptions o;
  const auto expect_error = [&](const char* text) {
    EXPECT_THROWS_WITH(ops::attend(q, k, v, {}, o), ArgumentError, text);
    o = {};
  };
  o.bias = zeros({6, 4});
  expect_error("[attend] expected bias broadcastable to [B, N, T, S] = [2, 3, 4, 6]; got bias [6, 4]");
  o.bias = at::ones({4, 6}, at::kBool);
  expect_error("[attend] expected bias float64, float32, bfloat16 or float16; got bias Bool");
  o.key_mask = at::ones({2, 5}, at::kBool);
  expect_error("[attend] expected key_mask [B=2, S=6]; got key_mask [2, 5]");
  o.key_mask = at::ones({2, 6});
  expect_error("[attend] expected key_mask bool; got key_mask Float");
  o.relative = zeros({3, 6});
  expect_error("[attend] expected relative [1 or N=3, 2L-1], an odd number of entries; got relative [3, 6]");
  o.relative = zeros({2, 5});
  expect_error("[attend] expected relative [1 or N=3, 2L-1], an odd number of entries; got relative [2, 5]");
  o.row_bias = zeros({2, 3, 4, 2});
  expect_error("[attend] expected row_bias and column_bias together; got row_bias alone");
  o.row_bias = zeros({2, 3, 4, 2});
  o.column_bias = zeros({2, 3, 4, 2});
  expect_error("[attend] expected rows · columns = S = 6; got 2 · 2");
  o.row_bias = zeros({3, 4, 2});
  o.column_bias = zeros({2, 3, 4, 3});
  expect_error("[attend] expected row_bias [B, N, T, rows]; got row_bias [3, 4, 2]");
  o.row_bias = zeros({2, 3, 5, 2});
  o.column_bias = zeros({2, 3, 4, 3});
  expect_error(
      "[attend] expected row_bias broadcastable to [B, N, T, rows] = [2, 3, 4, 2]; got row_bias [2, 3, 5, "
      "2]");
  o.dropout = 1;
  expect_error("[attend] expected dropout in [0, 1); got dropout 1");
  o.rows = {1};
  expect_error("[attend] expected rows only with the weights of rows; got 1 rows");
  o.weights = AttendWeights::rows;
  o.rows = {4};
  expect_error("[attend] expected rows in 0 .. 3; got row 4");
  o.weights = AttendWeights::rows;
  o.rows = {2, 2};
  expect_error("[attend] expected each of rows once; got row 2 twice");
}

}  // namespace
}  // namespace gaze
