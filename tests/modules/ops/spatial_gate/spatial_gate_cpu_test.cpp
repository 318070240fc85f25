// The CPU kernels of spatial_gate beyond what spatial_gate_test asks of every room: sizes around their lanes,
// pieces and groups, threads, agreement with the composed room.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/ops/spatial_gate/spatial_gate.h"
#include "modules/ops/spatial_gate/spatial_gate_rooms.h"
#include "modules/ops/statistics.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::kSpatialGateMaxError;
using test::expect_near;

struct Map {
  int64_t B, C, H, W;
};

// One below, at and above the lanes; several pieces of 64 KB; several groups of 4 MB; an
// output that goes past the cache.
constexpr Map kMaps[] = {{2, 15, 3, 15},  {2, 16, 4, 16},  {3, 17, 3, 17}, {1, 33, 1, 1},
                         {5, 8, 7, 33},   {2, 64, 17, 31}, {3, 130, 9, 9}, {3, 24, 150, 151},
                         {2, 1030, 3, 5}, {4, 64, 96, 96}};

struct Inputs {
  at::Tensor x, weight, bias, scale, shift, mean, variance, mix, channel_gate, residual, grad_output,
      grad_gate;

  Inputs(const Map& map, at::ScalarType dtype, bool last, int64_t kernel) {
    const auto format = last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    const auto random = [&](at::IntArrayRef sizes) { return at::randn(sizes).to(dtype); };
    const auto single = [&](double value) { return at::full({1}, value, dtype); };
    x = random({map.B, map.C, map.H, map.W}).contiguous(format);
    residual = random(x.sizes()).contiguous(format);
    grad_output = random(x.sizes()).contiguous(format);
    weight = (random({1, 2, kernel, kernel}) / double(kernel)).to(dtype);
    bias = single(0.25);
    scale = single(1.5);
    shift = single(-0.5);
    mean = single(0.75);
    variance = single(2.0);
    mix = at::full({}, 0.75, dtype);
    const at::ScalarType wide = detail::statistics_dtype(dtype);
    channel_gate = at::rand({map.B, map.C}).to(wide);
    grad_gate = at::randn({map.B, map.H, map.W}).to(wide);
  }

  detail::SpatialGateForward forward(decltype(&detail::call_spatial_gate) room, bool fixed,
                                     bool gated) const {
    return room(x, weight, bias, scale, shift, fixed ? std::optional(mean) : std::nullopt,
                fixed ? std::optional(variance) : std::nullopt, 1e-5, mix,
                gated ? std::optional(channel_gate) : std::nullopt, residual, gated);
  }

  std::vector<at::Tensor> backward(decltype(&detail::call_spatial_gate_backward) room, bool fixed, bool gated,
                                   bool of_output = true) const {
    const auto all = room(x, weight, bias, scale, shift, fixed ? std::optional(mean) : std::nullopt,
                          fixed ? std::optional(variance) : std::nullopt, 1e-5, mix,
                          gated ? std::optional(channel_gate) : std::nullopt,
                          of_output ? std::optional(grad_output) : std::nullopt, grad_gate);
    return std::apply([](const auto&... each) { return std::vector<at::Tensor>{each...}; }, all);
  }
};

class SpatialGateCpu : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, SpatialGateCpu, test::every_dtype_and_cpu_isa(), test::dtype_and_cpu_isa_of);

TEST_P(SpatialGateCpu, agrees_with_the_composed_room) {
  torch::manual_seed(1);
  const double bound = 4 * kSpatialGateMaxError.of(dtype());
  for (const Map& map : kMaps) {
    for (const bool last : {false, true}) {
      for (const bool fixed : {false, true}) {
        const int64_t kernel = map.H > 3 ? 7 : 3;
        const Inputs in(map, dtype(), last, kernel);
        for (const bool gated : {false, true}) {
          if (map.H > 100 && fixed != gated) continue;  // the large map once each
          const std::string context = fmt::format("{}x{}x{}x{}, channels-last {}, fixed {}, gated {}", map.B,
                                                  map.C, map.H, map.W, last, fixed, gated);
          const auto got = in.forward(detail::call_spatial_gate, fixed, gated);
          const auto expected = in.forward(detail::spatial_gate_composed, fixed, gated);
          expect_near(std::get<0>(got), std::get<0>(expected), bound, context);
          expect_near(std::get<1>(got), std::get<1>(expected), bound, context);
          expect_near(std::get<2>(got), std::get<2>(expected), bound, context);
          expect_near(std::get<3>(got), std::get<3>(expected), bound, context);
          for (const bool of_output : {false, true}) {
            const auto ours = in.backward(detail::call_spatial_gate_backward, fixed, gated, of_output);
            const auto theirs = in.backward(detail::spatial_gate_backward_composed, fixed, gated, of_output);
            for (size_t i = 0; i < ours.size(); ++i) {
              EXPECT_EQ(ours[i].scalar_type(), theirs[i].scalar_type());
              // Those of weight, bias and norm are sums over all cells, whose rounding errors add up in both
              // rooms.
              const double cells = static_cast<double>(map.B * map.H * map.W);
              expect_near(ours[i], theirs[i], i >= 1 && i <= 5 ? bound * std::sqrt(cells) : bound,
                          fmt::format("{}, gradient {}", context, i));
            }
          }
        }
      }
    }
  }
}

TEST_P(SpatialGateCpu, no_bit_depends_on_the_number_of_threads) {
  torch::manual_seed(2);
  const int threads = at::get_num_threads();
  for (const bool last : {false, true}) {
    for (const bool fixed : {false, true}) {
      const Inputs in({3, 70, 33, 35}, dtype(), last, 7);
      std::vector<std::vector<at::Tensor>> results;
      for (const int count : {1, 3}) {
        at::set_num_threads(count);
        results.push_back(in.backward(detail::call_spatial_gate_backward, fixed, true));
        const auto forward = in.forward(detail::call_spatial_gate, fixed, true);
        results.back().push_back(std::get<0>(forward));
        results.back().push_back(std::get<1>(forward));
      }
      at::set_num_threads(threads);
      for (size_t i = 0; i < results[0].size(); ++i)
        EXPECT_TRUE(at::equal(results[0][i], results[1][i])) << i;
    }
  }
}

TEST_P(SpatialGateCpu, constant_huge_and_tiny_maps_give_finite_results) {
  const double huge = dtype() == at::kHalf ? 65504 : 1e30, tiny = dtype() == at::kHalf ? 6e-8 : 1e-38;
  for (const double value : {0.0, 1.0, -3.5, huge, -huge, tiny}) {
    const at::Tensor x = at::full({2, 20, 9, 5}, value, dtype());
    const at::Tensor weight = at::full({1, 2, 7, 7}, 0.25, dtype()), one = at::ones({1}, dtype());
    for (const bool norm : {false, true}) {
      ops::SpatialGateWeights weights{weight, {}, {}};
      if (norm) weights.norm = {one, one, one, one};
      const auto got = ops::spatial_gate(x, weights, {}, {-x, false});
      EXPECT_TRUE(at::isfinite(got.output).all().item<bool>()) << value;
      EXPECT_TRUE(at::isfinite(got.gate).all().item<bool>()) << value;
    }
  }
}

}  // namespace
}  // namespace gaze
