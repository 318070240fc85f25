#include "modules/ops/linear/linear.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/error.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze::ops {
namespace {

// Independent of the kernels: a loop in float64.
at::Tensor expected(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor rows = x.to(at::kDouble).reshape({-1, x.size(-1)}).contiguous(),
                   w = weight.to(at::kDouble).contiguous();
  at::Tensor y = at::zeros({rows.size(0), w.size(0)}, at::kDouble);
  for (int64_t r = 0; r < rows.size(0); ++r) {
    for (int64_t n = 0; n < w.size(0); ++n) {
      double sum = bias.defined() ? bias[n].item<double>() : 0;
      for (int64_t k = 0; k < w.size(1); ++k)
        sum +=
            rows.const_data_ptr<double>()[r * w.size(1) + k] * w.const_data_ptr<double>()[n * w.size(1) + k];
      y.mutable_data_ptr<double>()[r * w.size(0) + n] = sum;
    }
  }
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = w.size(0);
  return y.view(shape);
}

at::Tensor uniform(at::IntArrayRef shape, at::ScalarType dtype) {
  return at::rand(shape, at::kDouble).mul(2).sub(1).to(dtype);
}

class LinearOnCpuIsa : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(Isas, LinearOnCpuIsa, test::every_cpu_isa(), test::cpu_isa_of);

TEST_P(LinearOnCpuIsa, known_numbers) {
  const at::Tensor x = at::tensor({1.0F, 2.0F, 3.0F, -1.0F}).view({2, 2}),
                   weight = at::tensor({1.0F, 0.0F, 2.0F, -1.0F, 0.5F, 0.5F}).view({3, 2}),
                   bias = at::tensor({10.0F, 0.0F, -1.0F});
  EXPECT_TRUE(at::equal(ops::linear(x, weight, bias),
                        at::tensor({11.0F, 0.0F, 0.5F, 13.0F, 7.0F, 0.0F}).view({2, 3})));
}

TEST_P(LinearOnCpuIsa, agrees_with_float64_on_awkward_shapes) {
  torch::manual_seed(1);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const int64_t R : {1, 2, 3, 4, 5, 8, 9, 64, 65}) {
      for (const auto& [K, N] : std::vector<std::pair<int64_t, int64_t>>{
               {1, 1}, {3, 5}, {16, 16}, {17, 33}, {64, 15}, {1030, 7}, {2100, 4}}) {
        const at::Tensor x = uniform({R, K}, dtype), weight = uniform({N, K}, dtype),
                         bias = uniform({N}, dtype);
        const std::string context = fmt::format("{} R={} K={} N={}", c10::toString(dtype), R, K, N);
        const double bound = kLinearMaxError.of(dtype);
        test::expect_near(ops::linear(x, weight, bias), expected(x, weight, bias), bound, context);
        test::expect_near(ops::linear(x, weight), expected(x, weight, {}), bound, context + " without bias");
      }
    }
  }
}

TEST_P(LinearOnCpuIsa, a_rows_bits_depend_neither_on_the_others_nor_on_threads) {
  torch::manual_seed(2);
  const at::Tensor x = uniform({kLinearRows, 1504}, at::kFloat), weight = uniform({70, 1504}, at::kFloat),
                   bias = uniform({70}, at::kFloat);
  const at::Tensor together = ops::linear(x, weight, bias);
  for (int64_t r = 0; r < x.size(0); ++r) {
    EXPECT_TRUE(at::equal(ops::linear(x[r], weight, bias), together[r])) << "row " << r;
  }
  const int threads = at::get_num_threads();
  at::set_num_threads(threads == 1 ? 3 : 1);
  EXPECT_TRUE(at::equal(ops::linear(x, weight, bias), together));
  at::set_num_threads(threads);
}

TEST(Linear, layouts_and_leading_axes) {
  torch::manual_seed(3);
  const at::Tensor weight = uniform({6, 10}, at::kFloat), bias = uniform({6}, at::kFloat);
  const at::Tensor x = uniform({10, 3, 2}, at::kFloat).permute({2, 1, 0});  // [2, 3, 10], not dense
  test::expect_near(ops::linear(x, weight, bias), expected(x, weight, bias), 1e-6, "permuted");
  EXPECT_EQ(ops::linear(x, weight, bias).sizes(), (std::vector<int64_t>{2, 3, 6}));
  EXPECT_EQ(ops::linear(at::zeros({10}), weight, bias).sizes(), (std::vector<int64_t>{6}));
  EXPECT_EQ(ops::linear(at::zeros({0, 10}), weight, bias).sizes(), (std::vector<int64_t>{0, 6}));
  const at::Tensor turned = uniform({10, 6}, at::kFloat).t();
  test::expect_near(ops::linear(x, turned, bias), expected(x, turned, bias), 1e-6, "weights not dense");
  const at::Tensor half = x.to(at::kBFloat16);
  EXPECT_TRUE(
      at::equal(ops::linear(half, weight.to(at::kBFloat16)), at::linear(half, weight.to(at::kBFloat16))));
}

TEST(Linear, gradients_flow_where_they_are_wanted) {
  torch::manual_seed(4);
  const at::Tensor x = uniform({2, 3}, at::kDouble).requires_grad_(),
                   weight = uniform({4, 3}, at::kDouble).requires_grad_(),
                   bias = uniform({4}, at::kDouble).requires_grad_();
  const at::Tensor y = ops::linear(x, weight, bias);
  ASSERT_TRUE(y.requires_grad());
  y.sum().backward();
  test::expect_near(x.grad(), weight.sum(0).expand({2, 3}), 1e-12, "of x");
  test::expect_near(weight.grad(), x.sum(0).expand({4, 3}), 1e-12, "of weight");
  test::expect_near(bias.grad(), at::full({4}, 2.0), 1e-12, "of bias");
  const torch::NoGradGuard none;
  EXPECT_FALSE(ops::linear(x, weight, bias).requires_grad());
}

TEST(Linear, errors) {
  const at::Tensor weight = at::zeros({4, 3});
  EXPECT_THROWS_WITH(ops::linear(at::zeros({2, 5}), weight), ArgumentError,
                     "[linear] expected x [..., K=3]; got x [2, 5]");
  EXPECT_THROWS_WITH(ops::linear({}, weight), ArgumentError,
                     "[linear] expected x [..., K=3]; got x undefined");
  EXPECT_THROWS_WITH(ops::linear(at::zeros({2, 3}), at::zeros({3})), ArgumentError,
                     "[linear] expected weight [N, K]; got weight [3]");
  EXPECT_THROWS_WITH(ops::linear(at::zeros({2, 3}), weight, at::zeros({3})), ArgumentError,
                     "[linear] expected bias [N=4]; got bias [3]");
  EXPECT_THROWS_WITH(ops::linear(at::zeros({2, 3}, at::kDouble), weight), ArgumentError,
                     "[linear] expected x Float on cpu like weight; got x Double on cpu");
}

}  // namespace
}  // namespace gaze::ops
