#include "modules/ops/window_attend/window_attend.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <set>

#include "modules/core/error.h"
#include "modules/ops/window_attend/window_attend_rooms.h"
#include "tests/modules/ops/window_attend/window_attend_reference.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using ops::AttendWeights;
using ops::kWindowAttendMaxError;
using ops::Window;
using ops::WindowAttended;
using ops::WindowAttendOptions;
using test::expect_near;
using test::WindowCase;

WindowAttendOptions per_head(const std::vector<Window>& windows, std::optional<double> scale = std::nullopt) {
  return {windows, scale, AttendWeights::per_head};
}

class WindowAttend : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, WindowAttend, test::every_cpu_isa(), test::cpu_isa_of);

// Keys 0, ln 2, ln 3: their exponentials are 1, 2, 3.
TEST_P(WindowAttend, worked_example) {
  const at::Tensor q = at::ones({1, 1, 3, 1}, at::kDouble);
  const at::Tensor k = at::tensor({1.0, 2.0, 3.0}, at::kDouble).log().view({1, 1, 3, 1});
  const at::Tensor v = at::tensor({1.0, 2.0, 4.0}, at::kDouble).view({1, 1, 3, 1});
  const WindowAttended got = ops::window_attend(q, k, v, per_head({Window::local(1)}));
  const auto expect = [](const at::Tensor& x, const std::vector<double>& expected) {
    expect_near(x.flatten(), at::tensor(expected, at::kDouble), 1e-14, "worked example");
  };
  expect(got.output, {5.0 / 3, 17.0 / 6, 16.0 / 5});
  expect(got.weights, {0, 1.0 / 3, 2.0 / 3, 1.0 / 6, 2.0 / 6, 3.0 / 6, 2.0 / 5, 3.0 / 5, 0});
  expect(got.log_sum_exp, {std::log(3.0), std::log(6.0), std::log(5.0)});
}

// The keys that each query of a sequence mixes, read from values that are rows of the identity.
std::vector<std::set<int64_t>> keys_mixed(int64_t length, const Window& window) {
  const at::Tensor zeros = at::zeros({1, 1, length, 1}), identity = at::eye(length).view({1, 1, length, -1});
  const at::Tensor output = ops::window_attend(zeros, zeros, identity, {{window}}).output[0][0];
  std::vector<std::set<int64_t>> keys(static_cast<size_t>(length));
  for (int64_t t = 0; t < length; ++t)
    for (int64_t s = 0; s < length; ++s)
      if (output[t][s].item<float>() != 0) keys[t].insert(s);
  return keys;
}

using KeySets = std::vector<std::set<int64_t>>;

// As the figures of the two papers have it: at a border the window stops, the query goes on.
TEST_P(WindowAttend, a_shifted_window_stays_whole_and_in_its_dilation_group) {
  EXPECT_EQ(keys_mixed(6, Window::neighborhood(3)),
            (KeySets{{0, 1, 2}, {0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {3, 4, 5}}));
  EXPECT_EQ(keys_mixed(7, Window::neighborhood(3, 2)),
            (KeySets{{0, 2, 4}, {1, 3, 5}, {0, 2, 4}, {1, 3, 5}, {2, 4, 6}, {1, 3, 5}, {2, 4, 6}}));
  EXPECT_EQ(keys_mixed(5, Window::neighborhood(4)),
            (KeySets{{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4}}));
}

TEST_P(WindowAttend, a_clipped_window_ends_at_the_border) {
  EXPECT_EQ(keys_mixed(5, Window::local(1)), (KeySets{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4}}));
  EXPECT_EQ(keys_mixed(5, Window::local(1, 2)), (KeySets{{0, 2}, {1, 3}, {0, 2, 4}, {1, 3}, {2, 4}}));
  EXPECT_EQ(keys_mixed(4, Window::causal(3)), (KeySets{{0}, {0, 1}, {0, 1, 2}, {1, 2, 3}}));
  EXPECT_EQ(keys_mixed(4, Window::banded(0, 2)), (KeySets{{0, 1, 2}, {1, 2, 3}, {2, 3}, {3}}));
}

class WindowAttendReference : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, WindowAttendReference, test::every_dtype_and_cpu_isa(),
                         test::dtype_and_cpu_isa_of);

WindowAttended composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const std::vector<Window>& windows) {
  std::vector<int64_t> before, after, dilation, borders;
  for (const Window& window : windows) {
    before.push_back(window.before);
    after.push_back(window.after);
    dilation.push_back(window.dilation);
    borders.push_back(window.borders == ops::WindowBorders::shifted ? 1 : 0);
  }
  const auto [output, weights, log_sum_exp] =
      detail::window_attend_composed(q, k, v, before, after, dilation, borders, std::nullopt, 1);
  return {output, weights, log_sum_exp};
}

TEST_P(WindowAttendReference, agrees_over_awkward_shapes_and_windows) {
  torch::manual_seed(1);
  const double bound = kWindowAttendMaxError.of(dtype());
  const at::ScalarType map_dtype = dtype() == at::kDouble ? at::kDouble : at::kFloat;
  double worst = 0;
  for (const WindowCase& each : test::window_cases()) {
    const at::Tensor q = (at::randn(each.shape(each.D)) * 2).to(dtype()),
                     k = at::randn(each.shape(each.D)).to(dtype()),
                     v = at::randn(each.shape(each.V)).to(dtype());
    const WindowAttended got = ops::window_attend(q, k, v, each.options(AttendWeights::per_head));
    const WindowAttended expected = test::window_attend_reference(q, k, v, each.windows);
    EXPECT_EQ(got.output.scalar_type(), dtype());
    EXPECT_EQ(got.weights.scalar_type(), map_dtype);
    EXPECT_EQ(got.log_sum_exp.scalar_type(), map_dtype);
    for (const WindowAttended& room : {got, composed(q, k, v, each.windows)}) {
      expect_near(room.output, expected.output, bound, each.text());
      expect_near(room.weights, expected.weights, bound, each.text());
      expect_near(room.log_sum_exp, expected.log_sum_exp, bound, each.text());
    }
    worst = std::max({worst, test::relative_error(got.output, expected.output),
                      test::relative_error(got.weights, expected.weights)});
    const at::Tensor sums = got.weights.sum(-1);
    expect_near(sums, at::ones_like(sums), 1e-6, each.text() + ", rows sum to 1");
    const WindowAttended bare = ops::window_attend(q, k, v, each.options());
    EXPECT_FALSE(bare.weights.defined());
    EXPECT_TRUE(at::equal(bare.output, got.output)) << each.text();
    if (each.N == 0) continue;
    const WindowAttended mean = ops::window_attend(q, k, v, each.options(AttendWeights::head_mean));
    expect_near(mean.weights, expected.weights.mean(1), bound, each.text() + ", mean over heads");
    EXPECT_TRUE(at::equal(mean.output, got.output)) << each.text();
  }
  RecordProperty("largest_error", fmt::format("{}", worst));
}

TEST_P(WindowAttendReference, agrees_on_views) {
  torch::manual_seed(2);
  const std::vector<Window> windows{Window::neighborhood(3), Window::local(1)};
  const at::Tensor q = at::randn({2, 5, 6, 3, 16}).to(dtype()).permute({0, 3, 1, 2, 4});  // [2, 3, 5, 6, 16]
  const at::Tensor k = at::randn({1, 3, 5, 6, 32}).to(dtype()).slice(4, 0, 32, 2).expand({2, 3, 5, 6, 16});
  const at::Tensor v = at::randn({2, 3, 16, 6, 5}).to(dtype()).transpose(2, 4);  // [2, 3, 5, 6, 16]
  const WindowAttended got = ops::window_attend(q, k, v, per_head(windows));
  const WindowAttended expected = test::window_attend_reference(q, k, v, windows);
  expect_near(got.output, expected.output, kWindowAttendMaxError.of(dtype()), "views");
  expect_near(got.weights, expected.weights, kWindowAttendMaxError.of(dtype()), "views");
}

// Scores of magnitude 1e4 that differ by little: a channel that is 100 everywhere adds 1e4 to each.
TEST_P(WindowAttend, scores_shifted_by_1e4_stay_numbers) {
  torch::manual_seed(3);
  const std::vector<Window> windows{Window::neighborhood(5), Window::neighborhood(3)};
  for (const double sign : {1.0, -1.0}) {
    const at::Tensor x = at::randn({1, 2, 9, 8, 8}), v = at::randn({1, 2, 9, 8, 8});
    const at::Tensor hundred = at::full({1, 2, 9, 8, 1}, 100.0);
    const at::Tensor q = at::cat({x, hundred}, 4).requires_grad_(true),
                     k = at::cat({x, hundred * sign}, 4).requires_grad_(true);
    const WindowAttended plain = ops::window_attend(x, x, v, per_head(windows, 1.0));
    const WindowAttended got = ops::window_attend(q, k, v, per_head(windows, 1.0));
    EXPECT_TRUE(got.output.isfinite().all().item<bool>());
    EXPECT_TRUE(got.weights.isfinite().all().item<bool>());
    expect_near(got.log_sum_exp, plain.log_sum_exp.to(at::kDouble) + sign * 1e4, 1e-6, "log-sum-exp");
    // One unit in the last place of a score of 1e4 is 1e-3, and so is a weight's relative error.
    expect_near(got.weights, plain.weights, 2e-3, "weights");
    got.output.sum().backward();
    EXPECT_TRUE(q.grad().isfinite().all().item<bool>() && k.grad().isfinite().all().item<bool>());
  }
}

TEST_P(WindowAttend, a_nan_reaches_those_that_see_it) {
  const auto with_nan = [] {
    at::Tensor x = at::ones({1, 1, 9, 4});
    x[0][0][6] = std::nan("");
    return x;
  };
  const at::Tensor x = at::ones({1, 1, 9, 4}), k = with_nan();
  const std::vector<Window> windows{Window::banded(2, 1)};  // key 6 is seen by 5, 6, 7, 8
  for (const at::Tensor& output :
       {ops::window_attend(x, k, x, {windows}).output, ops::window_attend(x, x, k, {windows}).output,
        composed(x, k, x, windows).output, composed(x, x, k, windows).output}) {
    EXPECT_TRUE(output.narrow(2, 0, 5).isfinite().all().item<bool>());
    EXPECT_TRUE(output.narrow(2, 5, 4).isnan().all().item<bool>());
  }
}

// Dense scores of 65536 tokens would take 16 GiB a head.
TEST_P(WindowAttend, long_sequences_need_no_dense_scores) {
  torch::manual_seed(4);
  const int64_t T = 65536;
  const at::Tensor q = at::randn({1, 1, T, 8}), k = at::randn({1, 1, T, 8}), v = at::randn({1, 1, T, 8});
  const std::vector<Window> windows{Window::local(8, 16)};
  const at::Tensor output = ops::window_attend(q, k, v, {windows}).output;
  const int64_t begin = 30000, length = 300, margin = 128;  // 128 = 8 · 16, a group's reach
  const auto part = [&](const at::Tensor& x) { return x.narrow(2, begin, length); };
  const at::Tensor expected = test::window_attend_reference(part(q), part(k), part(v), windows).output;
  expect_near(part(output).narrow(2, margin, length - 2 * margin),
              expected.narrow(2, margin, length - 2 * margin), kWindowAttendMaxError.float32, "middle");
}

TEST(WindowAttendDispatcher, is_called_by_name) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("gaze::window_attend", "");
  const at::Tensor q = at::randn({1, 2, 6, 4}), k = at::randn({1, 2, 6, 4}), v = at::randn({1, 2, 6, 2});
  const auto list = [](int64_t x) { return c10::IValue(std::vector<int64_t>{x}); };
  torch::jit::Stack stack{q, k, v, list(2), list(0), list(1), list(0), c10::IValue(), int64_t{1}};
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 3U);
  const WindowAttended expected = test::window_attend_reference(q, k, v, {Window::causal(3)});
  expect_near(stack[0].toTensor(), expected.output, kWindowAttendMaxError.float32, "output");
  expect_near(stack[1].toTensor(), expected.weights, kWindowAttendMaxError.float32, "weights");
  expect_near(stack[2].toTensor(), expected.log_sum_exp, kWindowAttendMaxError.float32, "log-sum-exp");
}

TEST(WindowAttendDispatcher, meta_tensors_give_shapes) {
  const auto meta = at::TensorOptions(at::kMeta).dtype(at::kHalf);
  const auto map = [&](int64_t width) { return at::empty({2, 3, 8, 9, width}, meta); };
  WindowAttendOptions options = per_head({Window::neighborhood(3), Window::local(3)});
  const WindowAttended got = ops::window_attend(map(4), map(4), map(5), options);
  EXPECT_EQ(got.output.sizes(), at::IntArrayRef({2, 3, 8, 9, 5}));
  EXPECT_EQ(got.weights.sizes(), at::IntArrayRef({2, 3, 8, 9, 21}));
  EXPECT_EQ(got.log_sum_exp.sizes(), at::IntArrayRef({2, 3, 8, 9}));
  EXPECT_EQ(got.output.scalar_type(), at::kHalf);
  EXPECT_EQ(got.weights.scalar_type(), at::kFloat);
  EXPECT_TRUE(got.output.is_meta());
  options.weights = AttendWeights::head_mean;
  EXPECT_EQ(ops::window_attend(map(4), map(4), map(5), options).weights.sizes(),
            at::IntArrayRef({2, 8, 9, 21}));
}

TEST(WindowAttendDispatcher, runs_in_inference_mode) {
  const c10::InferenceMode guard;
  const at::Tensor x = at::randn({1, 1, 4, 2});
  EXPECT_EQ(ops::window_attend(x, x, x, {{Window::local(1)}}).output.sizes(), x.sizes());
}

TEST(WindowAttendErrors, name_what_was_expected_and_what_came) {
  const auto zeros = [](at::IntArrayRef shape) { return at::zeros(shape); };
  const at::Tensor q = zeros({2, 3, 6, 5}), v = zeros({2, 3, 6, 7}), map = zeros({2, 3, 6, 8, 5});
  const auto call = [](const at::Tensor& a, const at::Tensor& b, const at::Tensor& c,
                       const std::vector<Window>& windows) { ops::window_attend(a, b, c, {windows}); };
  const Window one = Window::local(1);
  EXPECT_THROWS_WITH(call(q, q, v, {}), ArgumentError,
                     "[window_attend] expected 1 window (of T) or 2 (of H and W); got 0 windows");
  EXPECT_THROWS_WITH(call({}, q, v, {one}), ArgumentError,
                     "[window_attend] expected q [B, N, T, D]; got q undefined");
  EXPECT_THROWS_WITH(call(q, {}, v, {one}), ArgumentError,
                     "[window_attend] expected k [B, N, T, D]; got k undefined");
  EXPECT_THROWS_WITH(call(q, q, {}, {one}), ArgumentError,
                     "[window_attend] expected v [B, N, T, V]; got v undefined");
  EXPECT_THROWS_WITH(call(q, q, v, {one, one}), ArgumentError,
                     "[window_attend] expected q [B, N, H, W, D]; got q [2, 3, 6, 5]");
  EXPECT_THROWS_WITH(call(map, map, map, {one}), ArgumentError,
                     "[window_attend] expected q [B, N, T, D]; got q [2, 3, 6, 8, 5]");
  EXPECT_THROWS_WITH(call(zeros({2, 3, 6, 0}), zeros({2, 3, 6, 0}), v, {one}), ArgumentError,
                     "[window_attend] expected q of width D >= 1; got q [2, 3, 6, 0]");
  EXPECT_THROWS_WITH(call(q, zeros({2, 3, 6, 4}), v, {one}), ArgumentError,
                     "[window_attend] expected k [B=2, N=3, T=6, D=5]; got k [2, 3, 6, 4]");
  EXPECT_THROWS_WITH(call(q, q, zeros({2, 3, 5, 7}), {one}), ArgumentError,
                     "[window_attend] expected v [B=2, N=3, T=6, V]; got v [2, 3, 5, 7]");
  EXPECT_THROWS_WITH(call(map, map, zeros({2, 3, 6, 7, 5}), {one, one}), ArgumentError,
                     "[window_attend] expected v [B=2, N=3, H=6, W=8, V]; got v [2, 3, 6, 7, 5]");
  EXPECT_THROWS_WITH(call(q.to(at::kLong), q, v, {one}), ArgumentError,
                     "[window_attend] expected q float64, float32, bfloat16 or float16; got q Long");
  EXPECT_THROWS_WITH(call(q, q.to(at::kDouble), v, {one}), ArgumentError,
                     "[window_attend] expected k Float on cpu like q; got k Double on cpu");
  EXPECT_THROWS_WITH(call(q, q, v.to(at::kHalf), {one}), ArgumentError,
                     "[window_attend] expected v Float on cpu like q; got v Half on cpu");
}

TEST(WindowAttendErrors, name_the_window_that_does_not_fit) {
  const at::Tensor q = at::zeros({2, 3, 6, 5}), map = at::zeros({2, 3, 6, 8, 5});
  const auto call = [](const at::Tensor& x, const std::vector<Window>& windows) {
    ops::window_attend(x, x, x, {windows});
  };
  EXPECT_THROWS_WITH(call(q, {Window::banded(-1, 0)}), ArgumentError,
                     "[window_attend] expected before and after >= 0, dilation >= 1, all < 2^30 in T; got "
                     "before -1, after 0, dilation 1");
  EXPECT_THROWS_WITH(call(map, {Window::local(1, 0), Window::local(1)}), ArgumentError,
                     "[window_attend] expected before and after >= 0, dilation >= 1, all < 2^30 in H; got "
                     "before 1, after 1, dilation 0");
  EXPECT_THROWS_WITH(call(map, {Window::local(1), Window::local(int64_t{1} << 30)}), ArgumentError,
                     "[window_attend] expected before and after >= 0, dilation >= 1, all < 2^30 in W; got "
                     "before 1073741824, after 1073741824, dilation 1");
  EXPECT_THROWS_WITH(call(q, {Window::neighborhood(7)}), ArgumentError,
                     "[window_attend] expected T >= 7, the shifted window's 7 keys x dilation 1; got T 6");
  EXPECT_THROWS_WITH(call(map, {Window::neighborhood(3, 2), Window::neighborhood(3, 3)}), ArgumentError,
                     "[window_attend] expected W >= 9, the shifted window's 3 keys x dilation 3; got W 8");
  const std::vector<int64_t> one{1}, two{2}, none{};
  EXPECT_THROWS_WITH(detail::call_window_attend(q, q, q, one, one, none, one, {}, 0), ArgumentError,
                     "[window_attend] expected before, after, dilation and borders of equal length; got "
                     "lengths 1, 1, 0, 1");
  EXPECT_THROWS_WITH(detail::call_window_attend(q, q, q, one, one, one, two, {}, 0), ArgumentError,
                     "[window_attend] expected borders 0 (clipped) or 1 (shifted); got borders 2");
  EXPECT_THROWS_WITH(
      detail::call_window_attend(q, q, q, one, one, one, one, {}, 3), ArgumentError,
      "[window_attend] expected weights 0 (none), 1 (per head) or 2 (mean over heads); got weights 3");
}

}  // namespace
}  // namespace gaze
