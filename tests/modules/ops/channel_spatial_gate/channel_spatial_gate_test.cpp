// Both gates in one op: the numbers of the two ops, which their own tests hold against loops.
#include "modules/ops/channel_spatial_gate/channel_spatial_gate.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/error.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/gradient_check.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::ChannelSpatialGated;
using ops::Pool;
using ops::SpatialGateWeights;
using ops::SqueezeExciteWeights;
using ops::Tail;

enum class Norm { none, fixed, batch };

struct Inputs {
  at::Tensor x, residual, mix;
  SqueezeExciteWeights channel;
  SpatialGateWeights spatial;

  Inputs(at::IntArrayRef sizes, at::ScalarType dtype, bool last, Norm norm, int64_t kernel = 7) {
    const auto format = last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    const auto random = [&](at::IntArrayRef of, double scale = 1) {
      return (at::randn(of) * scale).to(dtype);
    };
    const int64_t C = sizes[1], R = C / 4 + 1;
    x = random(sizes).contiguous(format);
    residual = random(sizes).contiguous(format);
    mix = at::full({}, 0.75, dtype);
    channel = {random({R, C}, 1 / std::sqrt(double(C))), random({R}),
               random({C, R}, 1 / std::sqrt(double(R))), random({C})};
    spatial.weight = random({1, 2, kernel, kernel}, 1 / double(kernel));
    spatial.bias = at::full({1}, 0.25, dtype);
    const auto single = [&](double value) { return at::full({1}, value, dtype); };
    if (norm != Norm::none) spatial.norm = {single(1.5), single(-0.5), {}, {}};
    if (norm == Norm::fixed) spatial.norm.mean = single(0.75);
    if (norm == Norm::fixed) spatial.norm.variance = single(2);
  }

  ChannelSpatialGated together(Pool pool, const at::Tensor& by, const Tail& tail) const {
    return ops::channel_spatial_gate(x, channel, spatial, pool, by, tail);
  }
  ChannelSpatialGated apart(Pool pool, const at::Tensor& by, const Tail& tail) const {
    const at::Tensor gate = ops::channel_gate(x, channel, pool, by);
    const ops::SpatialGated gated = ops::spatial_gate(x, spatial, by, tail, gate);
    return {gated.output, gate, gated.gate, gated.mean, gated.variance};
  }
};

void expect_same(const ChannelSpatialGated& a, const ChannelSpatialGated& b, const std::string& context) {
  EXPECT_TRUE(at::equal(a.output, b.output)) << context;
  EXPECT_EQ(a.output.strides(), b.output.strides()) << context;
  EXPECT_TRUE(at::equal(a.channel_gate, b.channel_gate)) << context;
  EXPECT_TRUE(at::equal(a.gate, b.gate)) << context;
  ASSERT_EQ(a.mean.defined(), b.mean.defined()) << context;
  if (!a.mean.defined()) return;
  EXPECT_TRUE(at::equal(a.mean, b.mean)) << context;
  EXPECT_TRUE(at::equal(a.variance, b.variance)) << context;
}

class ChannelSpatialGate : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, ChannelSpatialGate, test::every_dtype_and_cpu_isa(), test::dtype_and_cpu_isa_of);

// One cell, an odd map, whole lanes, none at all; four cells at once and three more; groups of unlike size;
// an output that goes past the cache.
TEST_P(ChannelSpatialGate, has_the_bits_of_the_two_ops) {
  torch::manual_seed(1);
  const std::vector<std::vector<int64_t>> maps = {{2, 1, 1, 1},   {2, 15, 3, 15},  {0, 4, 5, 5},
                                                  {3, 17, 7, 9},  {2, 64, 16, 31}, {5, 260, 30, 31},
                                                  {4, 64, 96, 96}};
  for (const std::vector<int64_t>& map : maps)
    for (const bool last : {false, true})
      for (const Norm norm : {Norm::none, Norm::fixed, Norm::batch}) {
        if (map[0] == 0 && norm == Norm::batch) continue;
        const Inputs in(map, dtype(), last, norm, map[2] > 3 ? 7 : 3);
        const std::string context =
            fmt::format("{}, channels-last {}, norm {}", fmt::join(map, "x"), last, int(norm));
        expect_same(in.together(Pool::avg_max, in.mix, {in.residual, true}),
                    in.apart(Pool::avg_max, in.mix, {in.residual, true}), context);
        if (map[2] > 90) continue;
        expect_same(in.together(Pool::avg, {}, {}), in.apart(Pool::avg, {}, {}), context + ", bare");
      }
}

TEST_P(ChannelSpatialGate, no_bit_depends_on_the_number_of_threads) {
  torch::manual_seed(2);
  const int threads = at::get_num_threads();
  const Inputs in({7, 130, 33, 35}, dtype(), true, Norm::fixed);
  at::set_num_threads(1);
  const ChannelSpatialGated alone = in.together(Pool::avg_max, in.mix, {in.residual, true});
  at::set_num_threads(3);
  const ChannelSpatialGated shared = in.together(Pool::avg_max, in.mix, {in.residual, true});
  at::set_num_threads(threads);
  expect_same(shared, alone, "3 threads");
}

// A map of one number, 2: sigmoid(2 + 2) = .98201 for the channel, u = 1.96403, both planes the same;
// sigmoid(.5 u + .25 u) = .81352 for the cell; 1.59777 in the end.
TEST(ChannelSpatialGateOp, worked_by_hand) {
  const at::Tensor one = at::ones({1, 1});
  const at::Tensor weight = torch::tensor({0.5F, 0.25F}).view({1, 2, 1, 1});
  const ChannelSpatialGated got =
      ops::channel_spatial_gate(at::full({1, 1, 1, 1}, 2.0), {one, {}, one, {}}, {weight, {}, {}});
  EXPECT_NEAR(got.channel_gate.item<double>(), 0.9820137900379085, 1e-6);
  EXPECT_NEAR(got.gate.item<double>(), 0.8135160811650246, 1e-6);
  EXPECT_NEAR(got.output.item<double>(), 1.597768020243305, 1e-6);
  EXPECT_FALSE(got.mean.defined());
}

TEST(ChannelSpatialGateOp, gradients_reach_every_argument) {
  for (const Norm norm : {Norm::fixed, Norm::batch}) {
    torch::manual_seed(3);
    const Inputs in({2, 3, 4, 3}, at::kDouble, true, norm, 3);
    const auto call = [&](const std::vector<at::Tensor>& v) -> std::vector<at::Tensor> {
      SpatialGateWeights spatial{v[5], v[6], in.spatial.norm};
      spatial.norm.scale = v[7];
      spatial.norm.shift = v[8];
      const ChannelSpatialGated got = ops::channel_spatial_gate(v[0], {v[1], v[2], v[3], v[4]}, spatial,
                                                                Pool::avg_max, v[9], {v[10], true});
      return {got.output, got.channel_gate, got.gate};
    };
    test::expect_gradients(
        call,
        {in.x, in.channel.w1, in.channel.b1, in.channel.w2, in.channel.b2, in.spatial.weight, in.spatial.bias,
         in.spatial.norm.scale, in.spatial.norm.shift, in.mix, in.residual},
        fmt::format("norm {}", int(norm)));
  }
}

TEST(ChannelSpatialGateOp, the_pass_with_gradients_has_the_same_bits) {
  torch::manual_seed(4);
  const Inputs in({3, 40, 9, 11}, at::kFloat, true, Norm::fixed);
  const ChannelSpatialGated bare = in.together(Pool::avg_max, in.mix, {in.residual, true});
  EXPECT_FALSE(bare.output.requires_grad());
  in.x.requires_grad_(true);
  const ChannelSpatialGated learning = in.together(Pool::avg_max, in.mix, {in.residual, true});
  EXPECT_TRUE(learning.output.requires_grad());
  expect_same(learning, bare, "with gradients");
  const torch::NoGradGuard guard;
  EXPECT_FALSE(in.together(Pool::avg_max, in.mix, {}).output.requires_grad());
}

TEST(ChannelSpatialGateOp, meta_tensors_give_shapes) {
  const auto meta = at::TensorOptions(at::kMeta).dtype(at::kHalf);
  const at::Tensor x = at::empty({2, 8, 5, 3}, meta, at::MemoryFormat::ChannelsLast);
  const ChannelSpatialGated got = ops::channel_spatial_gate(
      x, {at::empty({2, 8}, meta), {}, at::empty({8, 2}, meta), {}}, {at::empty({1, 2, 7, 7}, meta), {}, {}});
  EXPECT_EQ(got.output.sizes(), x.sizes());
  EXPECT_TRUE(got.output.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(got.channel_gate.sizes(), (std::vector<int64_t>{2, 8}));
  EXPECT_EQ(got.gate.sizes(), (std::vector<int64_t>{2, 5, 3}));
  EXPECT_EQ(got.gate.scalar_type(), at::kFloat);
}

TEST(ChannelSpatialGateErrors, are_those_of_the_two_ops) {
  const at::Tensor x = at::zeros({2, 4, 3, 3});
  const SqueezeExciteWeights channel{at::zeros({2, 4}), {}, at::zeros({4, 2}), {}};
  const SpatialGateWeights spatial{at::zeros({1, 2, 3, 3}), {}, {}};
  const auto run = [](const at::Tensor& input, const SqueezeExciteWeights& c, const SpatialGateWeights& s) {
    return ops::channel_spatial_gate(input, c, s);
  };
  EXPECT_THROWS_WITH(run({}, channel, spatial), ArgumentError,
                     "[channel_spatial_gate] expected x [B, C, H, W]; got x undefined");
  EXPECT_THROWS_WITH(run(x, {{}, {}, channel.w2, {}}, spatial), ArgumentError,
                     "[channel_spatial_gate] expected w1 [R, C]; got w1 undefined");
  EXPECT_THROWS_WITH(run(x, channel, {}), ArgumentError,
                     "[channel_spatial_gate] expected weight [1, 2, k, k] with k odd; got weight undefined");
  EXPECT_THROWS_WITH(run(x, {at::zeros({2, 5}), {}, channel.w2, {}}, spatial), ArgumentError,
                     "[squeeze_excite] expected w1 [R, C=4]; got w1 [2, 5]");
  EXPECT_THROWS_WITH(run(x, channel, {at::zeros({1, 2, 4, 4}), {}, {}}), ArgumentError,
                     "[spatial_gate] expected weight [1, 2, k, k] with k odd; got weight [1, 2, 4, 4]");
  EXPECT_THROWS_WITH(
      ops::channel_spatial_gate(x, channel, spatial, Pool::avg_max, {}, {at::zeros({2, 4, 3, 2})}),
      ArgumentError, "[spatial_gate] expected residual [B=2, C=4, H=3, W=3]; got residual [2, 4, 3, 2]");
}

}  // namespace
}  // namespace gaze
