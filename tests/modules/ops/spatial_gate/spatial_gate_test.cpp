#include "modules/ops/spatial_gate/spatial_gate.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "modules/core/error.h"
#include "tests/support/awkward_shapes.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::kSpatialGateMaxError;
using ops::SpatialGated;
using ops::SpatialGateWeights;
using ops::SpatialNorm;
using ops::Tail;
using test::expect_near;

// The paper's formula, a scalar at a time.
SpatialGated reference(const at::Tensor& x_any, const SpatialGateWeights& weights, const at::Tensor& mix,
                       const Tail& tail = {}, const at::Tensor& channel_gate = {}) {
  at::Tensor x = x_any.to(at::kDouble).contiguous();
  const at::Tensor kernel = weights.weight.to(at::kDouble).contiguous();
  if (channel_gate.defined()) {
    x = x.clone();
    auto scaled = x.accessor<double, 4>();
    const at::Tensor factors = channel_gate.to(at::kDouble).contiguous();
    const auto factor = factors.accessor<double, 2>();
    for (int64_t b = 0; b < x.size(0); ++b)
      for (int64_t c = 0; c < x.size(1); ++c)
        for (int64_t h = 0; h < x.size(2); ++h)
          for (int64_t w = 0; w < x.size(3); ++w) scaled[b][c][h][w] *= factor[b][c];
  }
  const at::Tensor residual =
      tail.residual.defined() ? tail.residual.to(at::kDouble).contiguous() : at::zeros_like(x);
  const auto residual_at = residual.accessor<double, 4>();
  const int64_t B = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), K = kernel.size(2);
  const double bias = weights.bias.defined() ? weights.bias.item<double>() : 0;
  at::Tensor activation = at::empty({B, H, W}, at::kDouble);
  const auto x_at = x.accessor<double, 4>(), kernel_at = kernel.accessor<double, 4>();
  auto activation_at = activation.accessor<double, 3>();
  double sum = 0, squares = 0;
  const auto count = static_cast<double>(B * H * W);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t w = 0; w < W; ++w) {
        double a = bias;
        for (int64_t i = 0; i < K; ++i)
          for (int64_t j = 0; j < K; ++j) {
            const int64_t row = h + i - K / 2, column = w + j - K / 2;
            if (row < 0 || row >= H || column < 0 || column >= W) continue;
            double largest = x_at[b][0][row][column], mean = 0;
            for (int64_t c = 0; c < C; ++c) {
              largest = std::max(largest, x_at[b][c][row][column]);
              mean += x_at[b][c][row][column] / static_cast<double>(C);
            }
            a += kernel_at[0][0][i][j] * largest + kernel_at[0][1][i][j] * mean;
          }
        activation_at[b][h][w] = a;
        sum += a / count;
      }
  SpatialGated result{at::empty({B, C, H, W}, at::kDouble), at::empty({B, H, W}, at::kDouble), {}, {}};
  double mean = sum, variance = 0;
  const SpatialNorm& norm = weights.norm;
  if (norm.scale.defined()) {
    for (int64_t b = 0; b < B; ++b)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t w = 0; w < W; ++w)
          squares += (activation_at[b][h][w] - sum) * (activation_at[b][h][w] - sum) / count;
    variance = squares;
    if (norm.mean.defined()) mean = norm.mean.item<double>();
    if (norm.mean.defined()) variance = norm.variance.item<double>();
    result.mean = at::full({1}, mean, at::kDouble);
    result.variance = at::full({1}, variance, at::kDouble);
  }
  auto output_at = result.output.accessor<double, 4>();
  auto gate_at = result.gate.accessor<double, 3>();
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t w = 0; w < W; ++w) {
        double p = activation_at[b][h][w];
        if (norm.scale.defined()) {
          p = norm.scale.item<double>() * (p - mean) / std::sqrt(variance + norm.eps) +
              norm.shift.item<double>();
        }
        double gate = 1 / (1 + std::exp(-p));
        if (mix.defined()) gate = 1 + mix.item<double>() * (gate - 1);
        gate_at[b][h][w] = gate;
        for (int64_t c = 0; c < C; ++c) {
          const double y = x_at[b][c][h][w] * gate + residual_at[b][c][h][w];
          output_at[b][c][h][w] = tail.relu && y < 0 ? 0 : y;
        }
      }
  return result;
}

at::Tensor single(double value, at::ScalarType dtype = at::kFloat) {
  return at::full({1}, value, dtype);
}

enum class Norm { none, fixed, batch };

SpatialGateWeights random_weights(int64_t kernel, bool bias, Norm norm, at::ScalarType dtype) {
  SpatialGateWeights weights{at::randn({1, 2, kernel, kernel}).to(dtype), {}, {}};
  if (bias) weights.bias = single(0.25, dtype);
  if (norm != Norm::none) weights.norm = {single(1.5, dtype), single(-0.5, dtype), {}, {}, 1e-5};
  if (norm == Norm::fixed) weights.norm.mean = single(0.75, dtype);
  if (norm == Norm::fixed) weights.norm.variance = single(2.0, dtype);
  return weights;
}

class SpatialGate : public test::OnCpuIsa {};
class SpatialGateBackward : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, SpatialGate, test::every_cpu_isa(), test::cpu_isa_of);
INSTANTIATE_TEST_SUITE_P(, SpatialGateBackward, test::every_cpu_isa(), test::cpu_isa_of);

// One cell, channels 1 and 3: maximum 3, mean 2; a = 2*3 - 2*2 - 2 + ln 3: gate 3/4.
TEST_P(SpatialGate, known_numbers) {
  const at::Tensor x = at::tensor({1.0F, 3.0F}).view({1, 2, 1, 1});
  at::Tensor weight = at::full({1, 2, 3, 3}, 100.0F);  // all but the centre meets padding
  weight[0][0][1][1] = 2;
  weight[0][1][1][1] = -2;
  const SpatialGated got = ops::spatial_gate(x, {weight, single(std::log(3.0) - 2), {}});
  expect_near(got.gate, at::full({1, 1, 1}, 0.75, at::kDouble), 1e-6, "gate");
  expect_near(got.output, at::tensor({0.75, 2.25}, at::kDouble).view({1, 2, 1, 1}), 1e-6, "output");
  EXPECT_FALSE(got.mean.defined());
  // Twice the first channel: u 2 and 3, maximum 3, mean 5/2; with weights 2, -2 the logit is 2·3 - 2·5/2 - 1
  // = 0.
  const SpatialGated scaled =
      ops::spatial_gate(x, {weight, single(-1), {}}, {}, {at::tensor({1.0F, -2.0F}).view({1, 2, 1, 1}), true},
                        at::tensor({2.0F, 1.0F}).view({1, 2}));
  expect_near(scaled.gate, at::full({1, 1, 1}, 0.5, at::kDouble), 1e-6, "gate of gated channels");
  expect_near(scaled.output, at::tensor({2.0, 0.0}, at::kDouble).view({1, 2, 1, 1}), 1e-6, "end");
  // Batch statistics of two cells with pre-activations 0 and 2: mean 1, variance 1, normed -1 and 1.
  const at::Tensor row = at::tensor({0.0F, 1.0F}).view({1, 1, 1, 2});
  const SpatialGated normed =
      ops::spatial_gate(row, {at::ones({1, 2, 1, 1}), {}, {single(std::log(3.0)), single(0), {}, {}, 0.0}});
  expect_near(normed.gate, at::tensor({0.25, 0.75}, at::kDouble).view({1, 1, 2}), 1e-6, "normed gate");
  EXPECT_FLOAT_EQ(normed.mean.item<float>(), 1);
  EXPECT_FLOAT_EQ(normed.variance.item<float>(), 1);
}

class SpatialGateReference : public test::OnDtypeAndCpuIsa {};

TEST_P(SpatialGateReference, agrees_over_awkward_shapes) {
  const at::ScalarType dtype = this->dtype();
  const double bound = kSpatialGateMaxError.of(dtype);
  torch::manual_seed(1);
  double worst = 0;
  for (const int64_t channels : {1, 6}) {
    for (const test::NamedMap& map : test::awkward_maps(dtype, channels)) {
      for (const int64_t kernel : {1, 3, 7}) {
        for (const Norm norm : {Norm::none, Norm::fixed, Norm::batch}) {
          if (norm == Norm::batch && map.x.size(0) == 0) continue;
          const bool extras = norm != Norm::none;
          const SpatialGateWeights weights = random_weights(kernel, extras, norm, dtype);
          const at::Tensor mix = extras ? at::scalar_tensor(0.375F, at::kFloat).to(dtype) : at::Tensor();
          const std::string context =
              fmt::format("{}, C {}, k {}, norm {}", map.name, channels, kernel, int(norm));
          const Tail tail = extras ? Tail{at::randn(map.x.sizes()).to(dtype), kernel != 3} : Tail{};
          const at::Tensor channels_gate =
              kernel == 1 ? at::Tensor()
                          : at::rand({map.x.size(0), channels}, dtype == at::kDouble ? dtype : at::kFloat);
          const SpatialGated got = ops::spatial_gate(map.x, weights, mix, tail, channels_gate);
          const SpatialGated expected = reference(map.x, weights, mix, tail, channels_gate);
          expect_near(got.output, expected.output, bound, context);
          expect_near(got.gate, expected.gate, bound, context);
          if (norm == Norm::batch) expect_near(got.mean, expected.mean, bound, context);
          if (norm == Norm::batch) expect_near(got.variance, expected.variance, bound, context);
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

TEST_P(SpatialGateReference, mix_zero_is_bit_equal) {
  const at::ScalarType dtype = this->dtype();
  for (const test::NamedMap& map : test::awkward_maps(dtype, 5)) {
    for (const Norm norm : {Norm::none, Norm::fixed, Norm::batch}) {
      if (norm == Norm::batch && map.x.size(0) == 0) continue;
      const auto got = ops::spatial_gate(map.x, random_weights(7, true, norm, dtype), at::zeros({}, dtype));
      EXPECT_TRUE(at::equal(got.output, map.x)) << map.name;
      const at::Tensor residual = at::randn(map.x.sizes()).to(dtype);
      const at::Tensor open =
          at::ones({map.x.size(0), map.x.size(1)}, dtype == at::kDouble ? dtype : at::kFloat);
      const auto end = ops::spatial_gate(map.x, random_weights(7, true, norm, dtype), at::zeros({}, dtype),
                                         {residual, true}, open);
      EXPECT_TRUE(at::equal(end.output, (map.x + residual).relu_())) << map.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SpatialGateReference, test::every_dtype_and_cpu_isa(), test::dtype_and_cpu_isa_of);

TEST_P(SpatialGateBackward, agrees_with_central_differences) {
  torch::manual_seed(2);
  const at::Tensor mean = single(0.3, at::kDouble), variance = single(1.7, at::kDouble);
  for (const bool last : {false, true}) {
    at::Tensor x = at::randn({2, 3, 3, 2}, at::kDouble);
    if (last) x = x.contiguous(at::MemoryFormat::ChannelsLast);
    const std::vector<at::Tensor> all{x,
                                      at::randn({1, 2, 3, 3}, at::kDouble),
                                      at::randn({1}, at::kDouble),
                                      at::randn({1}, at::kDouble),
                                      at::randn({1}, at::kDouble),
                                      at::scalar_tensor(0.4, at::kDouble)};
    const auto both = [](const SpatialGated& got) { return std::vector<at::Tensor>{got.output, got.gate}; };
    const std::string context = fmt::format("channels-last {}", last);
    test::expect_gradients(
        [&](const auto& in) {
          return both(ops::spatial_gate(in[0], {in[1], in[2], {in[3], in[4], mean, variance}}, in[5]));
        },
        all, context + ", fixed statistics");
    test::expect_gradients(
        [&](const auto& in) {
          return both(ops::spatial_gate(in[0], {in[1], {}, {in[2], in[3], {}, {}}}, in[4]));
        },
        {all[0], all[1], all[3], all[4], all[5]}, context + ", statistics of the batch", 1e-6, 1e-6);
    test::expect_gradients(
        [&](const auto& in) {
          return both(ops::spatial_gate(in[0], {in[1], in[2], {}}));
        },
        {all[0], all[1], all[2]}, context + ", no norm, no mix");
    test::expect_gradients(
        [&](const auto& in) {
          return std::vector<at::Tensor>{ops::spatial_gate(in[0], {in[1], {}, {}}).gate};
        },
        {all[0], all[1]}, context + ", gate alone");
  }
}

TEST_P(SpatialGateBackward, goes_through_the_tail_to_the_residual_and_to_the_channel_gate) {
  torch::manual_seed(9);
  for (const bool last : {false, true}) {
    at::Tensor x = at::randn({2, 3, 3, 2}, at::kDouble);
    if (last) x = x.contiguous(at::MemoryFormat::ChannelsLast);
    const std::vector<at::Tensor> all{x,
                                      at::randn({1, 2, 3, 3}, at::kDouble),
                                      at::rand({2, 3}, at::kDouble),
                                      at::randn({2, 3, 3, 2}, at::kDouble),
                                      at::randn({1}, at::kDouble),
                                      at::randn({1}, at::kDouble)};
    for (const bool relu : {false, true}) {
      test::expect_gradients(
          [&](const auto& in) {
            const SpatialGated got =
                ops::spatial_gate(in[0], {in[1], {}, {in[4], in[5], {}, {}}}, {}, {in[3], relu}, in[2]);
            return std::vector<at::Tensor>{got.output, got.gate};
          },
          all, fmt::format("channels-last {}, relu {}", last, relu), 1e-6, 1e-6);
    }
    test::expect_gradients(
        [&](const auto& in) {
          return std::vector<at::Tensor>{ops::spatial_gate(in[0], {in[1], {}, {}}, {}, {{}, true}).output};
        },
        {all[0], all[1]}, "relu alone");
  }
}

TEST_P(SpatialGateBackward, a_maximum_that_is_tied_goes_to_the_first_channel) {
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor x = at::zeros({1, 3, 2, 2}).contiguous(format).requires_grad_(true);
    at::Tensor weight = at::zeros({1, 2, 1, 1});
    weight[0][0][0][0] = 4;
    ops::spatial_gate(x, {weight, {}, {}}).gate.sum().backward();
    at::Tensor expected = at::zeros({1, 3, 2, 2}, at::kDouble);
    expected.select(1, 0).fill_(1);  // 4 · 1/2 · 1/2
    expect_near(x.grad(), expected, 1e-6, "tie");
  }
}

TEST_P(SpatialGateBackward, half_types_follow_float_and_keep_the_layout) {
  torch::manual_seed(3);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const SpatialGateWeights narrow = random_weights(3, false, Norm::batch, dtype);
    const auto wide = [](const at::Tensor& x) { return x.detach().to(at::kDouble).requires_grad_(true); };
    const SpatialGateWeights reference{
        wide(narrow.weight), {}, {wide(narrow.norm.scale), wide(narrow.norm.shift), {}, {}}};
    const at::Tensor x =
        at::randn({2, 6, 4, 5}).to(dtype).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true);
    const at::Tensor x_wide = wide(x);
    narrow.weight.requires_grad_(true);
    narrow.norm.scale.requires_grad_(true);
    ops::spatial_gate(x, narrow).output.sum().backward();
    ops::spatial_gate(x_wide, reference).output.sum().backward();
    EXPECT_TRUE(x.grad().is_contiguous(at::MemoryFormat::ChannelsLast));
    const double bound = kSpatialGateMaxError.of(dtype);
    expect_near(x.grad(), x_wide.grad(), bound, "x");
    expect_near(narrow.weight.grad(), reference.weight.grad(), bound, "weight");
    expect_near(narrow.norm.scale.grad(), reference.norm.scale.grad(), bound, "scale");
  }
}

TEST_P(SpatialGateBackward, running_statistics_may_move_before_backward) {
  torch::manual_seed(4);
  const at::Tensor x = at::randn({2, 3, 4, 4}).requires_grad_(true);
  const SpatialGateWeights weights = random_weights(3, false, Norm::fixed, at::kFloat);
  const auto gradient = [&](bool move) {
    const at::Tensor loss = ops::spatial_gate(x, weights).output.sum();
    if (move) weights.norm.variance.mul_(3);
    return torch::autograd::grad({loss}, {x})[0];
  };
  const at::Tensor still = gradient(false);
  EXPECT_TRUE(at::equal(still, gradient(true)));
}

TEST_P(SpatialGateBackward, is_deterministic) {
  torch::manual_seed(5);
  const at::Tensor x = at::randn({5, 16, 9, 9}).requires_grad_(true);
  const SpatialGateWeights weights = random_weights(7, true, Norm::batch, at::kFloat);
  const at::Tensor kernel = weights.weight.requires_grad_(true);
  const auto gradients = [&] {
    return torch::autograd::grad({ops::spatial_gate(x, weights).output.square().sum()}, {x, kernel});
  };
  const auto first = gradients(), second = gradients();
  EXPECT_TRUE(at::equal(first[0], second[0]) && at::equal(first[1], second[1]));
}

TEST_P(SpatialGateBackward, twice_is_an_error_not_a_wrong_number) {
  const at::Tensor x = at::randn({1, 4, 2, 2}).requires_grad_(true);
  const at::Tensor loss = ops::spatial_gate(x, random_weights(3, false, Norm::none, at::kFloat)).output.sum();
  const auto first = torch::autograd::grad({loss}, {x}, {}, true, true);
  EXPECT_THROW(torch::autograd::grad({first[0].sum()}, {x}), std::exception);
}

TEST(SpatialGateDispatcher, is_called_by_name) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("gaze::spatial_gate", "");
  const at::Tensor x = at::randn({2, 4, 3, 3});
  const SpatialGateWeights w = random_weights(3, true, Norm::batch, at::kFloat);
  torch::jit::Stack stack{x,
                          w.weight,
                          w.bias,
                          w.norm.scale,
                          w.norm.shift,
                          c10::IValue(),
                          c10::IValue(),
                          1e-5,
                          c10::IValue(),
                          at::full({2, 4}, 0.5F),
                          x,
                          true};
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 4U);
  const SpatialGated expected = reference(x, w, {}, {x, true}, at::full({2, 4}, 0.5F));
  expect_near(stack[0].toTensor(), expected.output, kSpatialGateMaxError.float32, "output");
  expect_near(stack[1].toTensor(), expected.gate, kSpatialGateMaxError.float32, "gate");
  expect_near(stack[2].toTensor(), expected.mean, kSpatialGateMaxError.float32, "mean");
  expect_near(stack[3].toTensor(), expected.variance, kSpatialGateMaxError.float32, "variance");
}

TEST(SpatialGateDispatcher, meta_tensors_give_shapes) {
  const auto meta = at::TensorOptions(at::kMeta).dtype(at::kHalf);
  const at::Tensor x = at::empty({2, 8, 5, 3}, meta, at::MemoryFormat::ChannelsLast),
                   one = at::empty({1}, meta);
  const SpatialGated got = ops::spatial_gate(x, {at::empty({1, 2, 7, 7}, meta), {}, {one, one, {}, {}}});
  EXPECT_EQ(got.output.sizes(), x.sizes());
  EXPECT_TRUE(got.output.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(got.output.scalar_type(), at::kHalf);
  EXPECT_EQ(got.gate.sizes(), at::IntArrayRef({2, 5, 3}));
  EXPECT_EQ(got.gate.scalar_type(), at::kFloat);
  EXPECT_EQ(got.mean.sizes(), at::IntArrayRef({1}));
}

TEST(SpatialGateErrors, name_what_was_expected_and_what_came) {
  const at::Tensor x = at::zeros({2, 4, 3, 3}), weight = at::zeros({1, 2, 3, 3}), one = at::ones({1});
  const auto run = [](const at::Tensor& input, const SpatialGateWeights& weights,
                      const at::Tensor& mix = {}) { return ops::spatial_gate(input, weights, mix); };
  EXPECT_THROWS_WITH(run({}, {weight, {}, {}}), ArgumentError,
                     "[spatial_gate] expected x [B, C, H, W]; got x undefined");
  EXPECT_THROWS_WITH(run(at::zeros({3, 3}), {weight, {}, {}}), ArgumentError,
                     "[spatial_gate] expected x [B, C, H, W]; got x [3, 3]");
  EXPECT_THROWS_WITH(run(x.to(at::kInt), {weight, {}, {}}), ArgumentError,
                     "[spatial_gate] expected x float64, float32, bfloat16 or float16; got x Int");
  EXPECT_THROWS_WITH(run(at::zeros({2, 0, 3, 3}), {weight, {}, {}}), ArgumentError,
                     "[spatial_gate] expected x with C, H, W >= 1; got x [2, 0, 3, 3]");
  EXPECT_THROWS_WITH(run(x, {{}, {}, {}}), ArgumentError,
                     "[spatial_gate] expected weight [1, 2, k, k] with k odd; got weight undefined");
  EXPECT_THROWS_WITH(run(x, {at::zeros({1, 2, 4, 4}), {}, {}}), ArgumentError,
                     "[spatial_gate] expected weight [1, 2, k, k] with k odd; got weight [1, 2, 4, 4]");
  EXPECT_THROWS_WITH(run(x, {at::zeros({1, 3, 3, 3}), {}, {}}), ArgumentError,
                     "[spatial_gate] expected weight [1, 2, k, k] with k odd; got weight [1, 3, 3, 3]");
  EXPECT_THROWS_WITH(run(x, {weight.to(at::kHalf), {}, {}}), ArgumentError,
                     "[spatial_gate] expected weight Float on cpu like x; got weight Half on cpu");
  EXPECT_THROWS_WITH(run(x, {weight, at::zeros({2}), {}}), ArgumentError,
                     "[spatial_gate] expected bias [1]; got bias [2]");
  EXPECT_THROWS_WITH(run(x, {weight, one.to(at::kDouble), {}}), ArgumentError,
                     "[spatial_gate] expected bias Float on cpu like x; got bias Double on cpu");
  EXPECT_THROWS_WITH(run(x, {weight, {}, {at::zeros({}), one, {}, {}}}), ArgumentError,
                     "[spatial_gate] expected norm_scale [1]; got norm_scale []");
  EXPECT_THROWS_WITH(run(x, {weight, {}, {one, {}, {}, {}}}), ArgumentError,
                     "[spatial_gate] expected norm_scale and norm_shift together; got one of them");
  EXPECT_THROWS_WITH(run(x, {weight, {}, {one, one, one, {}}}), ArgumentError,
                     "[spatial_gate] expected norm_mean and norm_variance together; got one of them");
  EXPECT_THROWS_WITH(run(x, {weight, {}, {{}, {}, one, one}}), ArgumentError,
                     "[spatial_gate] expected norm_scale where norm_mean is given; got none");
  EXPECT_THROWS_WITH(run(at::zeros({0, 4, 3, 3}), {weight, {}, {one, one, {}, {}}}), ArgumentError,
                     "[spatial_gate] expected x with B >= 1 for statistics of the batch; got x [0, 4, 3, 3]");
  EXPECT_THROWS_WITH(run(x, {weight, {}, {}}, at::zeros({1})), ArgumentError,
                     "[spatial_gate] expected mix []; got mix [1]");
  EXPECT_THROWS_WITH(run(x, {weight, {}, {}}, at::zeros({}, at::kHalf)), ArgumentError,
                     "[spatial_gate] expected mix Float on cpu like x; got mix Half on cpu");
  const auto end = [&](const at::Tensor& residual, const at::Tensor& channel_gate) {
    return ops::spatial_gate(x, {weight, {}, {}}, {}, {residual, true}, channel_gate);
  };
  EXPECT_THROWS_WITH(end(at::zeros({2, 4, 3}), {}), ArgumentError,
                     "[spatial_gate] expected residual [B=2, C=4, H=3, W=3]; got residual [2, 4, 3]");
  EXPECT_THROWS_WITH(end(x.to(at::kDouble), {}), ArgumentError,
                     "[spatial_gate] expected residual Float on cpu like x; got residual Double on cpu");
  EXPECT_THROWS_WITH(end({}, at::zeros({2, 3})), ArgumentError,
                     "[spatial_gate] expected channel_gate [B=2, C=4]; got channel_gate [2, 3]");
  EXPECT_THROWS_WITH(
      end({}, at::zeros({2, 4}, at::kHalf)), ArgumentError,
      "[spatial_gate] expected channel_gate Float on cpu for x Float; got channel_gate Half on cpu");
}

}  // namespace
}  // namespace gaze
