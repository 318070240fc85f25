#include "modules/ops/squeeze_excite/squeeze_excite.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "modules/core/error.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"
#include "tests/support/awkward_shapes.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::kSqueezeExciteMaxError;
using ops::Pool;
using ops::SqueezeExcited;
using ops::SqueezeExciteWeights;
using ops::Tail;
using test::expect_near;

// The papers' formulas, a scalar at a time.
SqueezeExcited reference(const at::Tensor& x_any, const SqueezeExciteWeights& weights, Pool pool,
                         const at::Tensor& mix, const Tail& tail = {}) {
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble).contiguous(); };
  const at::Tensor x = wide(x_any), w1 = wide(weights.w1), w2 = wide(weights.w2);
  const int64_t B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), R = w1.size(0);
  const at::Tensor b1 = weights.b1.defined() ? wide(weights.b1) : at::zeros({R}, at::kDouble);
  const at::Tensor b2 = weights.b2.defined() ? wide(weights.b2) : at::zeros({C}, at::kDouble);
  const at::Tensor residual =
      tail.residual.defined() ? wide(tail.residual) : at::zeros({B, C, H, W}, at::kDouble);
  SqueezeExcited result{at::empty({B, C, H, W}, at::kDouble), at::empty({B, C}, at::kDouble)};
  const auto x_at = x.accessor<double, 4>(), residual_at = residual.accessor<double, 4>();
  const auto w1_at = w1.accessor<double, 2>(), w2_at = w2.accessor<double, 2>();
  const auto b1_at = b1.accessor<double, 1>(), b2_at = b2.accessor<double, 1>();
  auto output_at = result.output.accessor<double, 4>();
  auto gate_at = result.gate.accessor<double, 2>();
  for (int64_t b = 0; b < B; ++b) {
    std::vector<double> mean(C, 0), largest(C), logits(C, 0);
    for (int64_t c = 0; c < C; ++c) {
      largest[c] = x_at[b][c][0][0];
      for (int64_t h = 0; h < H; ++h)
        for (int64_t w = 0; w < W; ++w) {
          mean[c] += x_at[b][c][h][w] / static_cast<double>(H * W);
          largest[c] = std::max(largest[c], x_at[b][c][h][w]);
        }
    }
    for (const std::vector<double>* squeezed : {&mean, pool == Pool::avg_max ? &largest : nullptr}) {
      if (squeezed == nullptr) continue;
      for (int64_t c = 0; c < C; ++c) logits[c] += b2_at[c];
      for (int64_t r = 0; r < R; ++r) {
        double hidden = b1_at[r];
        for (int64_t c = 0; c < C; ++c) hidden += w1_at[r][c] * (*squeezed)[c];
        hidden = std::max(hidden, 0.0);
        for (int64_t c = 0; c < C; ++c) logits[c] += w2_at[c][r] * hidden;
      }
    }
    for (int64_t c = 0; c < C; ++c) {
      double gate = 1 / (1 + std::exp(-logits[c]));
      if (mix.defined()) gate = 1 + mix.item<double>() * (gate - 1);
      gate_at[b][c] = gate;
      for (int64_t h = 0; h < H; ++h)
        for (int64_t w = 0; w < W; ++w) {
          const double y = x_at[b][c][h][w] * gate + residual_at[b][c][h][w];
          output_at[b][c][h][w] = tail.relu && y < 0 ? 0 : y;
        }
    }
  }
  return result;
}

SqueezeExciteWeights random_weights(int64_t C, int64_t R, bool bias, at::ScalarType dtype) {
  SqueezeExciteWeights weights{at::randn({R, C}).to(dtype), {}, at::randn({C, R}).to(dtype), {}};
  if (bias) weights.b1 = at::randn({R}).to(dtype);
  if (bias) weights.b2 = at::randn({C}).to(dtype);
  return weights;
}

class SqueezeExcite : public test::OnCpuIsa {};
class SqueezeExciteBackward : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, SqueezeExcite, test::every_cpu_isa(), test::cpu_isa_of);
INSTANTIATE_TEST_SUITE_P(, SqueezeExciteBackward, test::every_cpu_isa(), test::cpu_isa_of);

// Two channels, means 2 and 4, one hidden unit 0.5*2 + 0.25*4 - 1 = 1, logits ln 3 and -ln 3: gates 3/4 and
// 1/4.
TEST_P(SqueezeExcite, known_numbers) {
  const at::Tensor x = at::tensor({1.0F, 3.0F, 4.0F, 4.0F}).view({1, 2, 1, 2});
  const float ln3 = std::log(3.0F);
  const SqueezeExciteWeights weights{at::tensor({0.5F, 0.25F}).view({1, 2}), at::tensor({-1.0F}),
                                     at::tensor({ln3, 0.0F}).view({2, 1}), at::tensor({0.0F, -ln3})};
  const SqueezeExcited got = ops::squeeze_excite(x, weights);
  expect_near(got.gate, at::tensor({0.75, 0.25}, at::kDouble).view({1, 2}), 1e-6, "gate");
  expect_near(got.output, at::tensor({0.75, 2.25, 1.0, 1.0}, at::kDouble).view({1, 2, 1, 2}), 1e-6, "output");
  // Maxima 3 and 4: hidden 0.5*3 + 0.25*4 - 1 = 1.5; logits 2.5 ln 3 and -2 ln 3.
  const SqueezeExcited both = ops::squeeze_excite(x, weights, Pool::avg_max);
  const double first = 1 / (1 + std::pow(3.0, -2.5));
  expect_near(both.gate, at::tensor({first, 0.1}, at::kDouble).view({1, 2}), 1e-6, "avg_max gate");
  // mix = 1/2 takes the gates half way from 1.
  const SqueezeExcited mixed =
      ops::squeeze_excite(x, weights, Pool::avg, at::scalar_tensor(0.5F, at::kFloat));
  expect_near(mixed.gate, at::tensor({0.875, 0.625}, at::kDouble).view({1, 2}), 1e-6, "mixed gate");
  // The end of a residual block: 0.75 - 1 and 1 - 4 are cut off.
  const at::Tensor residual = at::tensor({-1.0F, 0.5F, 2.0F, -4.0F}).view({1, 2, 1, 2});
  const SqueezeExcited end = ops::squeeze_excite(x, weights, Pool::avg, {}, {residual, true});
  expect_near(end.output, at::tensor({0.0, 2.75, 3.0, 0.0}, at::kDouble).view({1, 2, 1, 2}), 1e-6, "end");
  const SqueezeExcited added = ops::squeeze_excite(x, weights, Pool::avg, {}, {residual, false});
  expect_near(added.output, at::tensor({-0.25, 2.75, 3.0, -3.0}, at::kDouble).view({1, 2, 1, 2}), 1e-6,
              "added");
}

TEST_P(SqueezeExcite, the_gate_alone_is_that_of_the_whole) {
  torch::manual_seed(6);
  const at::Tensor x = at::randn({3, 5, 4, 7});
  const SqueezeExciteWeights weights = random_weights(5, 2, true, at::kFloat);
  const at::Tensor mix = at::scalar_tensor(0.3F, at::kFloat);
  for (const Pool pool : {Pool::avg, Pool::avg_max}) {
    const at::Tensor gate = ops::squeeze_excite(x, weights, pool, mix).gate;
    EXPECT_TRUE(at::equal(ops::channel_gate(x, weights, pool, mix), gate));
  }
}

class SqueezeExciteReference : public test::OnDtypeAndCpuIsa {};

TEST_P(SqueezeExciteReference, agrees_over_awkward_shapes) {
  const at::ScalarType dtype = this->dtype();
  const double bound = kSqueezeExciteMaxError.of(dtype);
  torch::manual_seed(1);
  double worst = 0;
  for (const auto& [C, R] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {5, 2}, {64, 4}}) {
    for (const test::NamedMap& map : test::awkward_maps(dtype, C)) {
      for (const Pool pool : {Pool::avg, Pool::avg_max}) {
        for (const bool extras : {false, true}) {
          const SqueezeExciteWeights weights = random_weights(C, R, extras, dtype);
          const at::Tensor mix = extras ? at::scalar_tensor(0.375F, at::kFloat).to(dtype) : at::Tensor();
          const Tail tail = extras ? Tail{at::randn(map.x.sizes()).to(dtype), pool == Pool::avg} : Tail{};
          const std::string context =
              fmt::format("{}, C {}, pool {}, extras {}", map.name, C, int(pool), extras);
          const SqueezeExcited got = ops::squeeze_excite(map.x, weights, pool, mix, tail);
          const SqueezeExcited expected = reference(map.x, weights, pool, mix, tail);
          expect_near(got.output, expected.output, bound, context);
          expect_near(got.gate, expected.gate, bound, context);
          worst = std::max({worst, test::relative_error(got.output, expected.output),
                            test::relative_error(got.gate, expected.gate)});
          EXPECT_EQ(got.output.scalar_type(), dtype) << context;
          EXPECT_EQ(got.gate.scalar_type(), dtype == at::kDouble ? at::kDouble : at::kFloat) << context;
          EXPECT_EQ(got.output.suggest_memory_format(), map.x.suggest_memory_format()) << context;
        }
      }
    }
  }
  RecordProperty("largest_error", fmt::format("{}", worst));
}

TEST_P(SqueezeExciteReference, mix_zero_is_bit_equal) {
  const at::ScalarType dtype = this->dtype();
  for (const test::NamedMap& map : test::awkward_maps(dtype, 5)) {
    for (const Pool pool : {Pool::avg, Pool::avg_max}) {
      const auto got =
          ops::squeeze_excite(map.x, random_weights(5, 2, true, dtype), pool, at::zeros({}, dtype));
      EXPECT_TRUE(at::equal(got.output, map.x)) << map.name;
      EXPECT_TRUE(at::equal(got.gate, at::ones_like(got.gate))) << map.name;
      const at::Tensor residual = at::randn(map.x.sizes()).to(dtype);
      const auto end = ops::squeeze_excite(map.x, random_weights(5, 2, true, dtype), pool,
                                           at::zeros({}, dtype), {residual, true});
      EXPECT_TRUE(at::equal(end.output, (map.x + residual).relu_())) << map.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SqueezeExciteReference, test::every_dtype_and_cpu_isa(),
                         test::dtype_and_cpu_isa_of);

TEST_P(SqueezeExcite, half_is_summed_in_float) {
  // 10,000 cells of 8: in float16 the sum would overflow.
  const at::Tensor x = at::full({1, 1, 100, 100}, 8, at::kHalf);
  const at::Tensor one = at::ones({1, 1}, at::kHalf);
  const auto got = ops::squeeze_excite(x, {one, at::full({1}, -8, at::kHalf), one, {}});
  EXPECT_EQ(got.gate.item<float>(), 0.5F);
}

TEST_P(SqueezeExciteBackward, agrees_with_central_differences) {
  torch::manual_seed(2);
  for (const Pool pool : {Pool::avg, Pool::avg_max}) {
    for (const bool last : {false, true}) {
      at::Tensor x = at::randn({2, 3, 2, 3}, at::kDouble);
      if (last) x = x.contiguous(at::MemoryFormat::ChannelsLast);
      const std::vector<at::Tensor> inputs{x,
                                           at::randn({2, 3}, at::kDouble),
                                           at::randn({2}, at::kDouble),
                                           at::randn({3, 2}, at::kDouble),
                                           at::randn({3}, at::kDouble),
                                           at::scalar_tensor(0.4, at::kDouble)};
      const std::string context = fmt::format("pool {}, channels-last {}", int(pool), last);
      test::expect_gradients(
          [&](const auto& in) {
            const auto got = ops::squeeze_excite(in[0], {in[1], in[2], in[3], in[4]}, pool, in[5]);
            return std::vector<at::Tensor>{got.output, got.gate};
          },
          inputs, context);
      test::expect_gradients(
          [&](const auto& in) {
            return std::vector<at::Tensor>{ops::squeeze_excite(in[0], {in[1], {}, in[2], {}}, pool).output};
          },
          {inputs[0], inputs[1], inputs[3]}, context + ", no bias, no mix");
      test::expect_gradients(
          [&](const auto& in) {
            return std::vector<at::Tensor>{ops::squeeze_excite(in[0], {in[1], {}, in[2], {}}, pool).gate};
          },
          {inputs[0], inputs[1], inputs[3]}, context + ", gate alone");
    }
  }
}

TEST_P(SqueezeExciteBackward, a_maximum_that_is_tied_goes_to_the_first_cell) {
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor x = at::zeros({1, 2, 2, 2}).contiguous(format).requires_grad_(true);
    const SqueezeExciteWeights weights{at::ones({1, 2}), at::ones({1}), at::ones({2, 1}), {}};
    ops::squeeze_excite(x, weights, Pool::avg_max).gate.sum().backward();
    // g = sigmoid(2): each squeezed value gets 2·g(1-g); the mean spreads it over four cells, the maximum
    // gives it to one.
    const double g = 1 / (1 + std::exp(-2.0)), slope = 2 * g * (1 - g);
    const at::Tensor expected =
        at::tensor({1.25 * slope, 0.25 * slope, 0.25 * slope, 0.25 * slope}, at::kDouble)
            .view({1, 1, 2, 2})
            .expand({1, 2, 2, 2});
    expect_near(x.grad(), expected, 1e-6, "tie");
  }
}

TEST_P(SqueezeExciteBackward, goes_through_the_tail_and_to_the_residual) {
  torch::manual_seed(8);
  at::Tensor x = at::randn({2, 3, 3, 2}, at::kDouble), residual = at::randn({2, 3, 3, 2}, at::kDouble);
  const std::vector<at::Tensor> all{x, at::randn({2, 3}, at::kDouble), at::randn({3, 2}, at::kDouble),
                                    residual.contiguous(at::MemoryFormat::ChannelsLast)};
  for (const bool relu : {false, true}) {
    test::expect_gradients(
        [&](const auto& in) {
          const SqueezeExciteWeights weights{in[1], {}, in[2], {}};
          const SqueezeExcited got = ops::squeeze_excite(in[0], weights, Pool::avg_max, {}, {in[3], relu});
          return std::vector<at::Tensor>{got.output, got.gate};
        },
        all, fmt::format("residual, relu {}", relu));
  }
  test::expect_gradients(
      [&](const auto& in) {
        const SqueezeExciteWeights weights{in[1], {}, in[2], {}};
        return std::vector<at::Tensor>{ops::squeeze_excite(in[0], weights, Pool::avg, {}, {{}, true}).output};
      },
      {all[0], all[1], all[2]}, "relu alone");
  test::expect_gradients(
      [&](const auto& in) {
        return std::vector<at::Tensor>{ops::channel_gate(in[0], {in[1], {}, in[2], {}}, Pool::avg_max)};
      },
      {all[0], all[1], all[2]}, "gate alone");
}

TEST_P(SqueezeExciteBackward, mix_has_a_gradient_at_zero) {
  const at::Tensor mix = at::zeros({}).requires_grad_(true), x = at::rand({2, 4, 3, 3});
  ops::squeeze_excite(x, random_weights(4, 2, true, at::kFloat), Pool::avg, mix).output.sum().backward();
  EXPECT_LT(mix.grad().item<float>(), 0);  // every gate is below 1
}

TEST_P(SqueezeExciteBackward, half_types_follow_float_and_keep_the_layout) {
  torch::manual_seed(3);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const SqueezeExciteWeights narrow = random_weights(6, 3, true, dtype);
    const auto wide = [](const at::Tensor& x) { return x.detach().to(at::kDouble).requires_grad_(true); };
    const SqueezeExciteWeights reference{wide(narrow.w1), wide(narrow.b1), wide(narrow.w2), wide(narrow.b2)};
    const at::Tensor x =
        at::randn({2, 6, 4, 5}).to(dtype).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true);
    const at::Tensor x_wide = wide(x);
    for (const at::Tensor& w : {narrow.w1, narrow.b1, narrow.w2, narrow.b2}) w.requires_grad_(true);
    ops::squeeze_excite(x, narrow, Pool::avg_max).output.sum().backward();
    ops::squeeze_excite(x_wide, reference, Pool::avg_max).output.sum().backward();
    EXPECT_TRUE(x.grad().is_contiguous(at::MemoryFormat::ChannelsLast));
    const double bound = kSqueezeExciteMaxError.of(dtype);
    expect_near(x.grad(), x_wide.grad(), bound, "x");
    expect_near(narrow.w1.grad(), reference.w1.grad(), bound, "w1");
    expect_near(narrow.b1.grad(), reference.b1.grad(), bound, "b1");
    expect_near(narrow.w2.grad(), reference.w2.grad(), bound, "w2");
    expect_near(narrow.b2.grad(), reference.b2.grad(), bound, "b2");
  }
}

TEST_P(SqueezeExciteBackward, is_deterministic_and_empty_batches_pass) {
  torch::manual_seed(4);
  for (const int64_t batch : {0, 5}) {
    const at::Tensor x = at::randn({batch, 16, 9, 9}).requires_grad_(true);
    const SqueezeExciteWeights weights = random_weights(16, 4, true, at::kFloat);
    const at::Tensor w1 = weights.w1.requires_grad_(true);
    const auto gradients = [&] {
      return torch::autograd::grad({ops::squeeze_excite(x, weights, Pool::avg_max).output.square().sum()},
                                   {x, w1});
    };
    const auto first = gradients(), second = gradients();
    EXPECT_TRUE(at::equal(first[0], second[0]) && at::equal(first[1], second[1]));
    if (batch == 0) EXPECT_TRUE(at::equal(first[1], at::zeros_like(w1)));
  }
}

TEST_P(SqueezeExciteBackward, twice_is_an_error_not_a_wrong_number) {
  const at::Tensor x = at::randn({1, 4, 2, 2}).requires_grad_(true);
  const auto first = torch::autograd::grad(
      {ops::squeeze_excite(x, random_weights(4, 2, true, at::kFloat)).output.sum()}, {x}, {}, true, true);
  EXPECT_THROW(torch::autograd::grad({first[0].sum()}, {x}), std::exception);
}

TEST(SqueezeExciteDispatcher, is_called_by_name) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("gaze::squeeze_excite", "");
  const at::Tensor x = at::randn({2, 4, 3, 3});
  const SqueezeExciteWeights w = random_weights(4, 2, true, at::kFloat);
  torch::jit::Stack stack{x, w.w1, w.b1, w.w2, w.b2, c10::IValue(), x, true, true, false};
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 2U);
  const SqueezeExcited expected = reference(x, w, Pool::avg_max, {}, {x, true});
  expect_near(stack[0].toTensor(), expected.output, kSqueezeExciteMaxError.float32, "output");
  expect_near(stack[1].toTensor(), expected.gate, kSqueezeExciteMaxError.float32, "gate");
}

TEST(SqueezeExciteDispatcher, meta_tensors_give_shapes) {
  const auto meta = at::TensorOptions(at::kMeta).dtype(at::kBFloat16);
  const at::Tensor x = at::empty({2, 8, 5, 3}, meta, at::MemoryFormat::ChannelsLast);
  const SqueezeExcited got =
      ops::squeeze_excite(x, {at::empty({2, 8}, meta), {}, at::empty({8, 2}, meta), {}});
  EXPECT_EQ(got.output.sizes(), x.sizes());
  EXPECT_TRUE(got.output.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(got.output.scalar_type(), at::kBFloat16);
  EXPECT_EQ(got.gate.sizes(), at::IntArrayRef({2, 8}));
  EXPECT_EQ(got.gate.scalar_type(), at::kFloat);
  const at::Tensor gate = ops::channel_gate(x, {at::empty({2, 8}, meta), {}, at::empty({8, 2}, meta), {}});
  EXPECT_EQ(gate.sizes(), at::IntArrayRef({2, 8}));
}

TEST(SqueezeExciteErrors, name_what_was_expected_and_what_came) {
  const at::Tensor x = at::zeros({2, 4, 3, 3}), w1 = at::zeros({2, 4}), b1 = at::zeros({2}),
                   w2 = at::zeros({4, 2}), b2 = at::zeros({4});
  const auto run = [&](const at::Tensor& input, const SqueezeExciteWeights& weights,
                       const at::Tensor& mix = {}) {
    return ops::squeeze_excite(input, weights, Pool::avg, mix);
  };
  EXPECT_THROWS_WITH(run({}, {w1, b1, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected x [B, C, H, W]; got x undefined");
  EXPECT_THROWS_WITH(run(at::zeros({8, 64}), {w1, b1, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected x [B, C, H, W]; got x [8, 64]");
  EXPECT_THROWS_WITH(run(x.to(at::kInt), {w1, b1, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected x float64, float32, bfloat16 or float16; got x Int");
  EXPECT_THROWS_WITH(run(at::zeros({2, 4, 0, 3}), {w1, b1, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected x with C, H, W >= 1; got x [2, 4, 0, 3]");
  EXPECT_THROWS_WITH(run(x, {{}, b1, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected w1 [R, C]; got w1 undefined");
  EXPECT_THROWS_WITH(run(x, {w1, b1, {}, b2}), ArgumentError,
                     "[squeeze_excite] expected w2 [C, R]; got w2 undefined");
  EXPECT_THROWS_WITH(run(x, {at::zeros({2, 5}), b1, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected w1 [R, C=4]; got w1 [2, 5]");
  EXPECT_THROWS_WITH(run(x, {at::zeros({0, 4}), b1, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected w1 with R >= 1; got w1 [0, 4]");
  EXPECT_THROWS_WITH(run(x, {w1, b1, at::zeros({4, 3}), b2}), ArgumentError,
                     "[squeeze_excite] expected w2 [C=4, R=2]; got w2 [4, 3]");
  EXPECT_THROWS_WITH(run(x, {w1, b2, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected b1 [R=2]; got b1 [4]");
  EXPECT_THROWS_WITH(run(x, {w1, b1, w2, b1}), ArgumentError,
                     "[squeeze_excite] expected b2 [C=4]; got b2 [2]");
  EXPECT_THROWS_WITH(run(x, {w1.to(at::kHalf), b1, w2, b2}), ArgumentError,
                     "[squeeze_excite] expected w1 Float on cpu like x; got w1 Half on cpu");
  EXPECT_THROWS_WITH(run(x, {w1, b1.to(at::kHalf), w2, b2}), ArgumentError,
                     "[squeeze_excite] expected b1 Float on cpu like x; got b1 Half on cpu");
  EXPECT_THROWS_WITH(run(x, {w1, b1, w2.to(at::kHalf), b2}), ArgumentError,
                     "[squeeze_excite] expected w2 Float on cpu like x; got w2 Half on cpu");
  EXPECT_THROWS_WITH(run(x, {w1, b1, w2, b2.to(at::kHalf)}), ArgumentError,
                     "[squeeze_excite] expected b2 Float on cpu like x; got b2 Half on cpu");
  EXPECT_THROWS_WITH(run(x, {w1, b1, w2, b2}, at::zeros({1})), ArgumentError,
                     "[squeeze_excite] expected mix []; got mix [1]");
  EXPECT_THROWS_WITH(run(x, {w1, b1, w2, b2}, at::zeros({}, at::kDouble)), ArgumentError,
                     "[squeeze_excite] expected mix Float on cpu like x; got mix Double on cpu");
  const auto end = [&](const at::Tensor& residual) {
    return ops::squeeze_excite(x, {w1, b1, w2, b2}, Pool::avg, {}, {residual, true});
  };
  EXPECT_THROWS_WITH(end(at::zeros({2, 4, 3, 1})), ArgumentError,
                     "[squeeze_excite] expected residual [B=2, C=4, H=3, W=3]; got residual [2, 4, 3, 1]");
  EXPECT_THROWS_WITH(end(x.to(at::kHalf)), ArgumentError,
                     "[squeeze_excite] expected residual Float on cpu like x; got residual Half on cpu");
  EXPECT_THROWS_WITH(detail::call_squeeze_excite(x, w1, b1, w2, b2, {}, {}, false, true, true), ArgumentError,
                     "[squeeze_excite] expected no residual and no relu with gate_only; got one of them");
}

}  // namespace
}  // namespace gaze
