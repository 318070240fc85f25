// The CPU kernels of squeeze_excite beyond what squeeze_excite_test asks of every room: sizes around their
// lanes, pieces and groups, threads, half precision, agreement with the composed room.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/ops/squeeze_excite/squeeze_excite.h"
#include "modules/ops/squeeze_excite/squeeze_excite_rooms.h"
#include "modules/ops/statistics.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::kSqueezeExciteMaxError;
using test::expect_near;

struct Map {
  int64_t B, C, H, W;
};

// One below, at and above the lanes; several pieces of 64 KB; several groups of 4 MB; planes of several
// blocks; rows of a page and layers of two parts; an output that goes past the cache.
constexpr Map kMaps[] = {{2, 15, 3, 3},   {2, 16, 4, 4},   {3, 17, 3, 11}, {1, 33, 1, 1},
                         {5, 8, 7, 9},    {2, 64, 17, 31}, {3, 130, 9, 9}, {3, 24, 150, 151},
                         {2, 1030, 3, 5}, {4, 64, 96, 96}};

struct Inputs {
  at::Tensor x, w1, b1, w2, b2, mix, residual, grad_output, grad_gate;

  Inputs(const Map& map, at::ScalarType dtype, bool last) {
    const auto format = last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    const auto random = [&](at::IntArrayRef sizes) { return at::randn(sizes).to(dtype); };
    const int64_t R = map.C / 4 + 1;
    x = random({map.B, map.C, map.H, map.W}).contiguous(format);
    residual = random(x.sizes()).contiguous(format);
    grad_output = random(x.sizes()).contiguous(format);
    w1 = (random({R, map.C}) / std::sqrt(double(map.C))).to(dtype);
    w2 = (random({map.C, R}) / std::sqrt(double(R))).to(dtype);
    b1 = random({R});
    b2 = random({map.C});
    mix = at::full({}, 0.75, dtype);
    grad_gate = at::randn({map.B, map.C}).to(detail::statistics_dtype(dtype));
  }
};

class SqueezeExciteCpu : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, SqueezeExciteCpu, test::every_dtype_and_cpu_isa(), test::dtype_and_cpu_isa_of);

TEST_P(SqueezeExciteCpu, agrees_with_the_composed_room) {
  torch::manual_seed(1);
  const double bound = 4 * kSqueezeExciteMaxError.of(dtype());
  for (const Map& map : kMaps) {
    for (const bool last : {false, true}) {
      for (const bool max_pool : {false, true}) {
        const std::string context =
            fmt::format("{}x{}x{}x{}, channels-last {}, max {}", map.B, map.C, map.H, map.W, last, max_pool);
        const Inputs in(map, dtype(), last);
        const auto got = detail::call_squeeze_excite(in.x, in.w1, in.b1, in.w2, in.b2, in.mix, in.residual,
                                                     max_pool, max_pool, false);
        const auto expected = detail::squeeze_excite_composed(in.x, in.w1, in.b1, in.w2, in.b2, in.mix,
                                                              in.residual, max_pool, max_pool, false);
        expect_near(std::get<0>(got), std::get<0>(expected), bound, context);
        expect_near(std::get<1>(got), std::get<1>(expected), bound, context);
        const auto grads = [&](auto backward, bool of_output) {
          const auto all =
              backward(in.x, in.w1, in.b1, in.w2, in.b2, in.mix,
                       of_output ? std::optional(in.grad_output) : std::nullopt, in.grad_gate, max_pool);
          return std::apply([](const auto&... each) { return std::vector<at::Tensor>{each...}; }, all);
        };
        for (const bool of_output : {false, true}) {
          const auto ours = grads(detail::call_squeeze_excite_backward, of_output);
          const auto theirs = grads(detail::squeeze_excite_backward_composed, of_output);
          for (size_t i = 0; i < ours.size(); ++i) {
            EXPECT_EQ(ours[i].scalar_type(), dtype());
            expect_near(ours[i], theirs[i], bound, fmt::format("{}, gradient {}", context, i));
          }
        }
      }
    }
  }
}

TEST_P(SqueezeExciteCpu, a_nan_is_not_lost) {
  torch::manual_seed(4);
  for (const bool last : {false, true}) {
    Inputs in({2, 17, 3, 5}, dtype(), last);
    in.x[1][3][2][4].fill_(std::nan(""));
    const auto [output, gate] =
        detail::call_squeeze_excite(in.x, in.w1, in.b1, in.w2, in.b2, in.mix, {}, last, true, false);
    EXPECT_TRUE(gate[0].isfinite().all().item<bool>());
    EXPECT_TRUE(gate[1].isnan().all().item<bool>());
    EXPECT_TRUE(output[1].isnan().all().item<bool>());
  }
}

TEST_P(SqueezeExciteCpu, no_bit_depends_on_the_number_of_threads) {
  torch::manual_seed(2);
  const int threads = at::get_num_threads();
  for (const bool last : {false, true}) {
    const Inputs in({3, 70, 33, 35}, dtype(), last);
    std::vector<std::vector<at::Tensor>> results;
    for (const int count : {1, 3}) {
      at::set_num_threads(count);
      const auto forward = detail::call_squeeze_excite(in.x, in.w1, in.b1, in.w2, in.b2, in.mix, in.residual,
                                                       true, true, false);
      const auto backward = detail::call_squeeze_excite_backward(in.x, in.w1, in.b1, in.w2, in.b2, in.mix,
                                                                 in.grad_output, in.grad_gate, true);
      const auto list = [](const auto&... each) { return std::vector<at::Tensor>{each...}; };
      results.push_back(std::apply(list, std::tuple_cat(forward, backward)));
    }
    at::set_num_threads(threads);
    for (size_t i = 0; i < results[0].size(); ++i) EXPECT_TRUE(at::equal(results[0][i], results[1][i])) << i;
  }
}

TEST_P(SqueezeExciteCpu, constant_huge_and_tiny_maps_give_finite_results) {
  const double huge = dtype() == at::kHalf ? 65504 : 1e30, tiny = dtype() == at::kHalf ? 6e-8 : 1e-38;
  for (const double value : {0.0, 1.0, -3.5, huge, -huge, tiny}) {
    const at::Tensor x = at::full({2, 20, 9, 5}, value, dtype());
    const auto weight = [&](int64_t rows, int64_t columns) {
      return at::full({rows, columns}, 0.25, dtype());
    };
    for (const ops::Pool pool : {ops::Pool::avg, ops::Pool::avg_max}) {
      const auto got = ops::squeeze_excite(x, {weight(5, 20), {}, weight(20, 5), {}}, pool, {}, {-x, false});
      EXPECT_TRUE(at::isfinite(got.output).all().item<bool>()) << value;
      EXPECT_TRUE(at::isfinite(got.gate).all().item<bool>()) << value;
    }
  }
}

class SqueezeExciteHalf : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, SqueezeExciteHalf, test::every_cpu_isa(), test::cpu_isa_of);

// Each number of a 16-bit type, up to 1e30, as one cell: unchanged with mix 0, and rounded as LibTorch
// rounds.
TEST_P(SqueezeExciteHalf, every_number_is_read_and_rounded_right) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    const at::Tensor all = at::arange(65536, at::kInt).to(at::kShort).view(dtype);
    const at::Tensor x = all.index({all.to(at::kFloat).abs() < 1e30}).view({1, 1, -1, 4});
    const at::Tensor zero = at::zeros({1, 1}, dtype);
    const auto same =
        ops::squeeze_excite(x, {zero, {}, zero, {}}, ops::Pool::avg, at::zeros({}, dtype)).output;
    EXPECT_TRUE(at::equal(same.view(at::kShort), x.view(at::kShort)));
    const auto third = ops::squeeze_excite(x, {zero, {}, zero, at::full({1}, -0.7, dtype)});
    const at::Tensor expected = (x.to(at::kFloat) * third.gate.view({1, 1, 1, 1})).to(dtype);
    EXPECT_TRUE(at::equal(third.output.view(at::kShort), expected.view(at::kShort)));
  }
}

}  // namespace
}  // namespace gaze
