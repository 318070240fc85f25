#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/ops/additive_attend/additive_attend.h"
#include "modules/ops/additive_attend/additive_attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "tests/modules/ops/additive_attend/additive_attend_reference.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::AdditiveAttended;
using test::AdditiveShape;
using test::AdditiveTensors;
using test::expect_near;

using Tensors = std::vector<at::Tensor>;

AdditiveAttended attend(const Tensors& in, const at::Tensor& mask = {}) {
  return ops::additive_attend(in[0], in[1], in[2], in[3], mask);
}

const char* const kNames[] = {"query", "key", "v", "values"};

// The gradients of LibTorch's own operators in float64, where the formula is written in them. Rows without a
// key are left out of what reaches backward, which their softmax would make NaN.
Tensors torch_gradients(const AdditiveTensors& in, const at::Tensor& mask, const at::Tensor& of_context,
                        const at::Tensor& of_weights) {
  Tensors leaves;
  for (const at::Tensor& x : in.list()) leaves.push_back(x.detach().to(at::kDouble).requires_grad_(true));
  at::Tensor scores = at::matmul((leaves[0].unsqueeze(2) + leaves[1].unsqueeze(1)).tanh(), leaves[2]);
  at::Tensor loss = at::zeros({}, at::kDouble);
  if (scores.numel() > 0) {
    at::Tensor row = at::ones({scores.size(0), scores.size(1), 1}, at::kDouble);  // [B, T, 1]
    if (mask.defined()) {
      const at::Tensor seen = (mask.dim() == 3 ? mask : mask.unsqueeze(1)).expand_as(scores);
      row = seen.any(2, true).to(at::kDouble);
      scores = scores.masked_fill(seen.logical_or(row == 0).logical_not(), -1e300);
    }
    const at::Tensor weights = scores.softmax(2) * row;
    loss = (weights * of_weights).sum() + (at::matmul(weights, leaves[3]) * of_context.to(at::kDouble)).sum();
  }
  if (!loss.requires_grad()) loss = loss + leaves[0].sum() * 0;
  Tensors gradients = torch::autograd::grad({loss}, leaves, {}, false, false, true);
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(leaves[i]);
  return gradients;
}

class AdditiveAttendBackward : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, AdditiveAttendBackward, test::every_dtype_and_cpu_isa(),
                         test::dtype_and_cpu_isa_of);

TEST_P(AdditiveAttendBackward, agrees_with_torchs_over_awkward_shapes_and_masks) {
  torch::manual_seed(1);
  const double bound = ops::kAdditiveAttendMaxError.of(dtype());
  double worst = 0;
  for (const AdditiveShape& z : test::additive_shapes())
    for (const test::AdditiveSizes& sizes : test::additive_sizes())
      for (const auto& [name, mask] : test::additive_masks(z)) {
        const std::string context = fmt::format("{}, {}, {}", name, z.text(), sizes.text());
        const AdditiveTensors in = test::additive_tensors(z, sizes).to(dtype());
        const at::Tensor of_context = at::randn({z.B, z.T, z.V}).to(dtype());
        const at::Tensor of_weights =
            at::randn({z.B, z.T, z.S}, dtype() == at::kDouble ? at::kDouble : at::kFloat);
        const Tensors expected = torch_gradients(in, mask, of_context, of_weights);
        const auto [unused, weights, log_sum_exp] =
            detail::call_additive_attend(in.query, in.key, in.v, in.values, detail::given(mask));
        const auto list = [](const auto&... each) { return Tensors{each...}; };
        const Tensors got = std::apply(list, detail::call_additive_attend_backward(
                                                 in.query, in.key, in.v, in.values, detail::given(mask),
                                                 log_sum_exp, of_context, of_weights)),
                      composed = std::apply(list, detail::additive_attend_backward_composed(
                                                      in.query, in.key, in.v, in.values, detail::given(mask),
                                                      log_sum_exp, of_context, of_weights));
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(got[i].scalar_type(), dtype());
          expect_near(got[i], expected[i], bound, context + ", of " + kNames[i]);
          expect_near(composed[i], expected[i], bound, context + ", composed, of " + kNames[i]);
          worst = std::max(worst, test::relative_error(got[i], expected[i]));
        }
      }
  RecordProperty("largest_error", fmt::format("{}", worst));
}

class AdditiveAttendGradient : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, AdditiveAttendGradient, test::every_cpu_isa(), test::cpu_isa_of);

TEST_P(AdditiveAttendGradient, agrees_with_central_differences) {
  torch::manual_seed(2);
  const auto both = [](const AdditiveAttended& got) { return Tensors{got.context, got.weights}; };
  const Tensors in = test::additive_tensors({2, 3, 5, 3, 2}).to(at::kDouble).list();
  test::expect_gradients([&](const auto& x) { return both(attend(x)); }, in, "context and weights");
  test::expect_gradients([&](const auto& x) { return Tensors{attend(x).context}; }, in, "context alone");
  at::Tensor padding = at::rand({2, 5}) > 0.4, pairs = at::rand({2, 3, 5}) > 0.4;
  padding[1].fill_(false);
  pairs[0][1].fill_(false);
  test::expect_gradients([&](const auto& x) { return both(attend(x, padding)); }, in,
                         "padding, an empty row");
  test::expect_gradients([&](const auto& x) { return both(attend(x, pairs)); }, in, "pairs, an empty row");
  const at::Tensor values = in[3];
  test::expect_gradients(
      [&](const auto& x) { return Tensors{ops::additive_attend(x[0], x[1], x[2], values).weights}; },
      {in[0], in[1], in[2]}, "weights alone");
  Tensors far = in;  // an element of each beyond what is taken apart, their sum within tanh's slope
  far[0] = in[0].clone();
  far[1] = in[1].clone();
  far[0].select(2, 1).add_(24);
  far[1].select(2, 1).sub_(24);
  test::expect_gradients([&](const auto& x) { return both(attend(x)); }, far, "far from 0");
  test::expect_gradients(
      [&](const auto& x) {
        return both(ops::additive_attend(x[0].transpose(1, 2), x[1].expand({2, 5, 3}), x[2], x[3]));
      },
      {at::randn({2, 3, 4}, at::kDouble), at::randn({1, 5, 3}, at::kDouble), in[2], in[3]}, "views");
}

TEST(AdditiveAttendGradients, of_a_masked_row_are_zero_not_nan) {
  Tensors in = test::additive_tensors({1, 2, 4, 3, 3}).list();
  for (at::Tensor& x : in) x.requires_grad_(true);
  attend(in, at::zeros({1, 4}, at::kBool)).context.sum().backward();
  for (const at::Tensor& x : in) EXPECT_TRUE(at::equal(x.grad(), at::zeros_like(x)));
}

TEST(AdditiveAttendGradients, do_not_depend_on_the_number_of_threads) {
  torch::manual_seed(3);
  const AdditiveTensors in = test::additive_tensors({3, 37, 70, 150, 40});
  const at::Tensor mask = at::rand({3, 70}) > 0.2;
  const int threads = at::get_num_threads();
  std::vector<Tensors> results;
  for (const int count : {1, 2, 3}) {
    at::set_num_threads(count);
    const auto [context, weights, log_sum_exp] =
        detail::call_additive_attend(in.query, in.key, in.v, in.values, mask);
    const auto [of_query, of_key, of_v, of_values] = detail::call_additive_attend_backward(
        in.query, in.key, in.v, in.values, mask, log_sum_exp, context, weights);
    results.push_back({context, weights, log_sum_exp, of_query, of_key, of_v, of_values});
  }
  at::set_num_threads(threads);
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_TRUE(at::equal(results[0][i], results[1][i]) && at::equal(results[0][i], results[2][i])) << i;
}

TEST(AdditiveAttendGradients, twice_is_an_error_not_a_wrong_number) {
  const at::Tensor x = at::randn({1, 2, 2}).requires_grad_(true);
  const at::Tensor context = ops::additive_attend(x, x, at::ones({2}), x).context;
  const auto first = torch::autograd::grad({context.sum()}, {x}, {}, true, true);
  EXPECT_THROW(torch::autograd::grad({first[0].sum()}, {x}), std::exception);
}

}  // namespace
}  // namespace gaze
