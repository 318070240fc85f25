#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/ops/optional_tensor.h"
#include "modules/ops/window_attend/window_attend_rooms.h"
#include "tests/modules/ops/window_attend/window_attend_reference.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::AttendWeights;
using ops::kWindowAttendMaxError;
using ops::Window;
using ops::WindowAttended;
using test::expect_near;
using test::WindowCase;

std::vector<at::Tensor> random_inputs(const WindowCase& each, at::ScalarType dtype) {
  std::vector<at::Tensor> inputs;
  for (const int64_t width : {each.D, each.D, each.V})
    inputs.push_back(at::randn(each.shape(width)).to(dtype));
  return inputs;
}

class WindowAttendBackward : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, WindowAttendBackward, test::every_cpu_isa(), test::cpu_isa_of);

TEST_P(WindowAttendBackward, agrees_with_central_differences) {
  torch::manual_seed(1);
  for (const WindowCase& each : {
           WindowCase{2, 2, 0, 5, 3, 2, {Window::local(1)}},
           WindowCase{1, 2, 0, 7, 2, 3, {Window::neighborhood(3, 2)}},
           WindowCase{1, 1, 0, 6, 2, 1, {Window::causal(3, 2)}},
           WindowCase{1, 2, 4, 3, 2, 2, {Window::neighborhood(3), Window::banded(1, 0)}},
       })
    for (const AttendWeights weights :
         {AttendWeights::none, AttendWeights::per_head, AttendWeights::head_mean})
      test::expect_gradients(
          [&](const auto& in) {
            const WindowAttended got = ops::window_attend(in[0], in[1], in[2], each.options(weights));
            std::vector<at::Tensor> results{got.output};
            if (got.weights.defined()) results.push_back(got.weights);
            return results;
          },
          random_inputs(each, at::kDouble), each.text());
}

TEST_P(WindowAttendBackward, weights_alone_carry_gradient) {
  torch::manual_seed(2);
  const WindowCase each{1, 2, 3, 4, 2, 2, {Window::local(1), Window::neighborhood(3)}};
  const std::vector<at::Tensor> inputs = random_inputs(each, at::kDouble);
  for (const AttendWeights weights : {AttendWeights::per_head, AttendWeights::head_mean})
    test::expect_gradients(
        [&](const auto& in) {
          return std::vector<at::Tensor>{
              ops::window_attend(in[0], in[1], inputs[2], each.options(weights)).weights};
        },
        {inputs[0], inputs[1]}, "weights");
}

class WindowAttendGradients : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, WindowAttendGradients, test::every_dtype_and_cpu_isa(),
                         test::dtype_and_cpu_isa_of);

std::vector<at::Tensor> composed_gradients(const std::vector<at::Tensor>& inputs, const WindowCase& each,
                                           const at::Tensor& of_output, const at::Tensor& of_weights) {
  std::vector<int64_t> before, after, dilation, borders;
  for (const Window& window : each.windows) {
    before.push_back(window.before);
    after.push_back(window.after);
    dilation.push_back(window.dilation);
    borders.push_back(window.borders == ops::WindowBorders::shifted ? 1 : 0);
  }
  const auto [q, k, v] = detail::window_attend_backward_composed(
      inputs[0], inputs[1], inputs[2], of_output, of_weights, before, after, dilation, borders, std::nullopt);
  return {q, k, v};
}

// Against PyTorch's autograd through dense scores in float64.
TEST_P(WindowAttendGradients, agree_over_awkward_shapes_and_windows) {
  torch::manual_seed(3);
  const double bound = kWindowAttendMaxError.of(dtype());
  const at::ScalarType map_dtype = dtype() == at::kDouble ? at::kDouble : at::kFloat;
  double worst = 0;
  for (const WindowCase& each : test::window_cases()) {
    if (each.B * each.N * each.W == 0) continue;
    std::vector<at::Tensor> inputs = random_inputs(each, dtype()), wide;
    for (at::Tensor& x : inputs) {
      wide.push_back(x.to(at::kDouble).requires_grad_(true));
      x.requires_grad_(true);
    }
    const WindowAttended got =
        ops::window_attend(inputs[0], inputs[1], inputs[2], each.options(AttendWeights::per_head));
    const WindowAttended dense = test::window_attend_dense(wide[0], wide[1], wide[2], each.windows);
    const at::Tensor of_output = at::randn(each.shape(each.V)).to(dtype());
    const at::Tensor of_weights = at::randn(got.weights.sizes()).to(map_dtype);
    const auto ours = torch::autograd::grad({got.output, got.weights}, inputs, {of_output, of_weights});
    const auto theirs = torch::autograd::grad({dense.output, dense.weights}, wide,
                                              {of_output.to(at::kDouble), of_weights.to(at::kDouble)});
    const auto composed = composed_gradients(inputs, each, of_output, of_weights);
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(ours[i].scalar_type(), dtype());
      expect_near(ours[i], theirs[i], bound, fmt::format("{}, input {}", each.text(), i));
      expect_near(composed[i], theirs[i], bound, fmt::format("{}, input {}, composed", each.text(), i));
      worst = std::max(worst, test::relative_error(ours[i], theirs[i]));
    }
  }
  RecordProperty("largest_error", fmt::format("{}", worst));
}

TEST_P(WindowAttendGradients, agree_on_views_and_an_expanded_gradient) {
  torch::manual_seed(4);
  const WindowCase each{2, 3, 5, 6, 16, 16, {Window::neighborhood(3), Window::local(1, 2)}};
  std::vector<at::Tensor> inputs{
      at::randn({2, 5, 6, 3, 16}).to(dtype()).permute({0, 3, 1, 2, 4}),
      at::randn({1, 3, 5, 6, 32}).to(dtype()).slice(4, 0, 32, 2).expand({2, 3, 5, 6, 16}),
      at::randn({2, 3, 16, 6, 5}).to(dtype()).transpose(2, 4)};
  std::vector<at::Tensor> wide;
  for (at::Tensor& x : inputs) {
    wide.push_back(x.detach().to(at::kDouble).requires_grad_(true));
    x = x.detach().requires_grad_(true);
  }
  const auto ours = torch::autograd::grad(
      {ops::window_attend(inputs[0], inputs[1], inputs[2], each.options()).output.sum()}, inputs);
  const auto theirs = torch::autograd::grad(
      {test::window_attend_dense(wide[0], wide[1], wide[2], each.windows).output.sum()}, wide);
  for (size_t i = 0; i < ours.size(); ++i)
    expect_near(ours[i], theirs[i], kWindowAttendMaxError.of(dtype()), fmt::format("input {}", i));
}

TEST_P(WindowAttendBackward, no_bit_depends_on_the_number_of_threads) {
  torch::manual_seed(5);
  const WindowCase each{2, 3, 9, 70, 20, 24, {Window::neighborhood(3), Window::local(3, 2)}};
  const int threads = at::get_num_threads();
  const std::vector<at::Tensor> inputs = random_inputs(each, at::kFloat);
  std::vector<std::vector<at::Tensor>> results;
  for (const int count : {1, 3, 3}) {
    at::set_num_threads(count);
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& x : inputs) leaves.push_back(x.clone().requires_grad_(true));
    const WindowAttended got =
        ops::window_attend(leaves[0], leaves[1], leaves[2], each.options(AttendWeights::head_mean));
    const auto loss = got.output.square().sum() + got.weights.square().sum();
    results.push_back(torch::autograd::grad({loss}, leaves));
    results.back().insert(results.back().end(), {got.output, got.weights, got.log_sum_exp});
  }
  at::set_num_threads(threads);
  for (size_t run = 1; run < results.size(); ++run)
    for (size_t i = 0; i < results[0].size(); ++i)
      EXPECT_TRUE(at::equal(results[0][i], results[run][i])) << run << ", " << i;
}

TEST(WindowAttendBackwardOnce, twice_is_an_error_not_a_wrong_number) {
  const at::Tensor q = at::randn({1, 1, 3, 2}).requires_grad_(true);
  const auto output = ops::window_attend(q, q, q, {{Window::local(1)}}).output;
  const auto first = torch::autograd::grad({output.sum()}, {q}, {}, true, true);
  EXPECT_THROW(torch::autograd::grad({first[0].sum()}, {q}), std::exception);
}

}  // namespace
}  // namespace gaze
