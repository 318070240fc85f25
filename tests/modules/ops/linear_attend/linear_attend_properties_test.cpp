// What linear_attend promises of any input: finite outputs, causality, no order among keys, no harm from
// shifts, memory that grows with the tokens.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "modules/ops/linear_attend/linear_attend.h"
#include "modules/ops/linear_attend/linear_attend_rooms.h"
#include "modules/ops/optional_tensor.h"
#include "tests/modules/ops/linear_attend/linear_attend_reference.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/memory_limit.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::FeatureMap;
using ops::kLinearAttendMaxError;
using ops::linear_attend;
using test::expect_near;

constexpr int64_t kCases = 200;

class LinearAttendPromise : public test::OnDtypeAndCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, LinearAttendPromise, test::every_dtype_and_cpu_isa(), test::dtype_and_cpu_isa_of);

bool finite(const at::Tensor& x) {
  return at::isfinite(x).all().item<bool>();
}

TEST_P(LinearAttendPromise, constant_huge_and_tiny_inputs_give_finite_outputs) {
  torch::manual_seed(1);
  const double huge = dtype() == at::kHalf ? 65504 : 1e9, tiny = dtype() == at::kHalf ? 6e-8 : 1e-38;
  for (int64_t number = 0; number < kCases; ++number) {
    auto any = test::random_case(number, dtype());
    for (const double size : {0.0, tiny, -tiny, huge, -huge, 7.0, -7.0}) {
      for (at::Tensor* x : {&any.q, &any.k, &any.v}) *x = at::full_like(*x, size);
      EXPECT_TRUE(finite(run(any))) << any.text << ", all " << size;
      for (at::Tensor* x : {&any.q, &any.k, &any.v})
        *x = at::randn(x->sizes()).clamp_(-1, 1).mul_(size).to(dtype());
      EXPECT_TRUE(finite(run(any))) << any.text << ", times " << size;
    }
  }
}

TEST_P(LinearAttendPromise, equal_values_come_out_as_they_are) {
  torch::manual_seed(2);
  for (int64_t number = 0; number < kCases; ++number) {
    auto any = test::random_case(number, dtype());
    any.v = at::full_like(any.v, 3);
    const at::Tensor got = run(any).to(at::kDouble);
    expect_near(got, at::where(got == 0, got, at::full({}, 3.0, at::kDouble)),
                kLinearAttendMaxError.of(dtype()), any.text);
  }
}

TEST_P(LinearAttendPromise, a_causal_output_ignores_what_comes_after) {
  torch::manual_seed(3);
  for (int64_t number = 0; number < kCases; ++number) {
    auto any = test::random_case(number, dtype());
    any.options.causal = true;
    const int64_t T = any.q.size(2), S = any.k.size(2), t = number % T, after = t + S - T + 1;
    const at::Tensor before = run(any);
    if (after < S) {
      // Moderate numbers, some that make a softmax forget all else, and no numbers at all.
      const double other = number % 3 == 0   ? 2
                           : number % 3 == 1 ? 1e4
                                             : std::numeric_limits<double>::quiet_NaN();
      const int64_t from = std::max<int64_t>(after, 0);
      any.k = any.k.clone();
      any.v = any.v.clone();
      any.k.narrow(2, from, S - from).fill_(number % 2 ? other : -other);
      any.v.narrow(2, from, S - from).fill_(other);
    }
    if (t + 1 < T) any.q.narrow(2, t + 1, T - t - 1).fill_(number % 4 ? 50 : -50);
    EXPECT_TRUE(at::equal(run(any).narrow(2, 0, t + 1), before.narrow(2, 0, t + 1)))
        << any.text << ", t " << t;
  }
}

TEST_P(LinearAttendPromise, the_order_of_keys_does_not_matter) {
  torch::manual_seed(4);
  for (int64_t number = 0; number < kCases; ++number) {
    auto any = test::random_case(number, dtype());
    any.options.causal = false;
    const at::Tensor before = run(any), order = at::randperm(any.k.size(2));
    any.k = any.k.index_select(2, order);
    any.v = any.v.index_select(2, order);
    if (any.mask.defined()) any.mask = any.mask.index_select(1, order);
    expect_near(run(any), before, 2 * kLinearAttendMaxError.of(dtype()), any.text);
  }
}

TEST_P(LinearAttendPromise, shifts_by_ten_thousand_give_numbers) {
  torch::manual_seed(5);
  for (int64_t number = 0; number < kCases; ++number) {
    const auto any = test::random_case(number, dtype());
    for (const double shift : {1e4, -1e4}) {
      auto moved = any;
      for (at::Tensor* x : {&moved.q, &moved.k}) *x = *x + shift;
      EXPECT_TRUE(finite(run(moved))) << any.text << ", q and k";
      if (any.options.map != FeatureMap::positive_random) continue;
      moved = any;
      moved.q = any.q + shift;
      EXPECT_TRUE(finite(run(moved))) << any.text << ", q";
      moved = any;
      moved.k = any.k + shift;
      EXPECT_TRUE(finite(run(moved))) << any.text << ", k";
    }
  }
}

class LinearAttendExp : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, LinearAttendExp, test::every_cpu_isa(), test::cpu_isa_of);

// Of exp features: adding a number to all logits of q, of k, or of a feature in one and taking it from the
// other changes nothing.
TEST_P(LinearAttendExp, is_the_same_for_shifted_logits) {
  torch::manual_seed(6);
  for (int64_t number = 0; number < kCases; ++number) {
    const auto any = test::random_case(number, at::kDouble);
    const auto exp_of = [&](const at::Tensor& q, const at::Tensor& k) {
      return detail::call_linear_attend(q, k, any.v, detail::given(any.mask), 2, any.options.causal);
    };
    const at::Tensor expected = exp_of(any.q, any.k);
    const at::Tensor apart = at::randn({any.q.size(3)}, at::kDouble) * 1e4;
    expect_near(exp_of(any.q + 1e4, any.k), expected, 1e-10, any.text);
    expect_near(exp_of(any.q, any.k - 1e4), expected, 1e-10, any.text);
    expect_near(exp_of(any.q + apart, any.k - apart), expected, 1e-10, any.text);
    const at::Tensor composed = detail::linear_attend_composed(
        any.q + apart, any.k - apart, any.v, detail::given(any.mask), 2, any.options.causal);
    expect_near(composed, expected, 1e-10, any.text + ", composed");
  }
}

// Exponents that climb by thousands from key to key: each output is the value of the last key seen.
TEST_P(LinearAttendExp, climbing_exponents_do_not_overflow) {
  const int64_t S = 150;
  const at::Tensor k = at::arange(S).view({1, 1, S, 1}).mul(3000.0).to(at::kFloat),
                   v = at::randn({1, 1, S, 4});
  const at::Tensor q = at::zeros({1, 1, S, 1});
  for (const auto& got : {detail::call_linear_attend(q, k, v, {}, 2, true),
                          detail::linear_attend_composed(q, k, v, {}, 2, true)})
    expect_near(got, v, kLinearAttendMaxError.float32, "causal");
  for (const auto& got : {detail::call_linear_attend(q, k, v, {}, 2, false),
                          detail::linear_attend_composed(q, k, v, {}, 2, false)})
    expect_near(got, v.narrow(2, S - 1, 1).expand_as(v), kLinearAttendMaxError.float32, "all");
}

// Pairs of 32768 tokens would take 4 GB, a state for each token 1 GB.
TEST(LinearAttendMemory, grows_with_the_tokens) {
  const int64_t T = 32768, V = 1000;
  const at::Tensor q = at::randn({1, 1, T, 8}).mul_(0.1), k = at::randn({1, 1, T, 8}).mul_(0.1);
  const at::Tensor v = at::randn({1, 1, T, V}), grad = at::ones({1, 1, T, V});
  const at::Tensor few = v.narrow(3, 0, 8), few_grad = grad.narrow(3, 0, 8);
  const test::MemoryLimit limit(uint64_t{900} << 20);
  for (const int64_t map : {0, 1, 2})
    for (const bool causal : {false, true}) {
      EXPECT_TRUE(finite(detail::call_linear_attend(q, k, v, {}, map, causal).select(3, V - 1)));
      EXPECT_TRUE(finite(std::get<1>(detail::call_linear_attend_backward(q, k, v, {}, grad, map, causal))));
      EXPECT_TRUE(
          finite(std::get<1>(detail::linear_attend_backward_composed(q, k, few, {}, few_grad, map, causal))));
    }
}

}  // namespace
}  // namespace gaze
