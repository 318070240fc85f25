// Laws that attention obeys whatever its inputs: 200 random cases of each.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>

#include "modules/ops/attend/attend.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::Attended;
using ops::AttendOptions;
using ops::AttendWeights;
using test::expect_near;

constexpr int kCases = 200;
constexpr double kNear = 5e-6;  // of float32

struct Case {
  at::Tensor q, k, v;
  AttendOptions options;
  std::string name;
};

int64_t up_to(int64_t most) {
  return 1 + at::randint(most, {1}, at::kLong).item<int64_t>();
}
bool one_in(int64_t n) {
  return up_to(n) == 1;
}

Case random_case(int index) {
  const int64_t B = up_to(2), N = up_to(3), T = up_to(9), S = up_to(40), D = up_to(20), V = up_to(20);
  Case made{at::randn({B, N, T, D}) * 2, at::randn({B, N, S, D}), at::randn({B, N, S, V}), {}, {}};
  made.options.weights = AttendWeights::per_head;
  made.options.key_sums = made.options.entropy = true;
  made.name = fmt::format("case {}: B {} N {} T {} S {} D {} V {}", index, B, N, T, S, D, V);
  return made;
}

class AttendLaws : public test::OnCpuIsa {
 protected:
  void SetUp() override { torch::manual_seed(31); }
};
INSTANTIATE_TEST_SUITE_P(, AttendLaws, test::every_cpu_isa(), test::cpu_isa_of);

TEST_P(AttendLaws, keys_and_values_moved_together_change_nothing) {
  for (int i = 0; i < kCases; ++i) {
    Case c = random_case(i);
    const int64_t B = c.k.size(0), S = c.k.size(2);
    const at::Tensor order = at::randperm(S);
    if (one_in(2)) c.options.key_mask = at::rand({B, S}) > 0.3;
    const Attended before = ops::attend(c.q, c.k, c.v, {}, c.options);
    if (c.options.key_mask.defined()) c.options.key_mask = c.options.key_mask.index_select(1, order);
    const Attended after =
        ops::attend(c.q, c.k.index_select(2, order), c.v.index_select(2, order), {}, c.options);
    expect_near(after.output, before.output, kNear, c.name);
    expect_near(after.weights, before.weights.index_select(3, order), kNear, c.name);
    expect_near(after.key_sums, before.key_sums.index_select(2, order), kNear, c.name);
    expect_near(after.entropy, before.entropy, kNear, c.name);
  }
}

TEST_P(AttendLaws, causal_output_ignores_what_comes_later) {
  for (int i = 0; i < kCases; ++i) {
    Case c = random_case(i);
    c.options.causal = true;
    const int64_t T = c.q.size(2), S = c.k.size(2), t = up_to(T) - 1, last = t + S - T;
    const Attended before = ops::attend(c.q, c.k, c.v, {}, c.options);
    if (last + 1 < S) {
      const int64_t first = std::max<int64_t>(0, last + 1);
      c.k.narrow(2, first, S - first).normal_(0, 50);
      c.v.narrow(2, first, S - first).normal_(0, 50);
    }
    const Attended after = ops::attend(c.q, c.k, c.v, {}, c.options);
    EXPECT_TRUE(at::equal(after.output.narrow(2, 0, t + 1), before.output.narrow(2, 0, t + 1))) << c.name;
    EXPECT_TRUE(at::equal(after.weights.narrow(2, 0, t + 1), before.weights.narrow(2, 0, t + 1))) << c.name;
  }
}

TEST_P(AttendLaws, a_constant_added_to_all_scores_changes_nothing) {
  for (int i = 0; i < kCases; ++i) {
    Case c = random_case(i);
    const Attended before = ops::attend(c.q, c.k, c.v, {}, c.options);
    // A power of two: scores of magnitude up to 30 lose at most 2^-16 to it.
    const double shift = one_in(2) ? 64 : -64;
    c.options.bias = at::full({1}, shift);
    const Attended after = ops::attend(c.q, c.k, c.v, {}, c.options);
    expect_near(after.output, before.output, 5e-5, c.name);
    expect_near(after.weights, before.weights, 5e-5, c.name);
    expect_near(after.entropy, before.entropy, 5e-5, c.name);
    expect_near(after.log_sum_exp - shift, before.log_sum_exp, 5e-5, c.name);
  }
}

TEST_P(AttendLaws, shifts_by_ten_thousand_stay_finite) {
  for (int i = 0; i < kCases; ++i) {
    Case c = random_case(i);
    for (at::Tensor* const x : {&c.q, &c.k, &c.v}) *x = x->detach().requires_grad_(true);
    c.options.bias = at::full({1}, one_in(2) ? 1e4 : -1e4);
    const Attended got = ops::attend(c.q, c.k, c.v, {}, c.options);
    const at::Tensor loss =
        got.output.sum() + got.weights.square().sum() + got.key_sums.square().sum() + got.entropy.sum();
    for (const at::Tensor& x : {got.output, got.weights, got.key_sums, got.entropy, got.log_sum_exp})
      EXPECT_TRUE(at::isfinite(x).all().item<bool>()) << c.name;
    for (const at::Tensor& grad : torch::autograd::grad({loss}, {c.q, c.k, c.v}))
      EXPECT_TRUE(at::isfinite(grad).all().item<bool>()) << c.name;
  }
}

// The weights' own laws: rows sum to 1, key sums to the number of queries, entropy lies in [0, log S].
TEST_P(AttendLaws, weights_are_a_distribution) {
  for (int i = 0; i < kCases; ++i) {
    const Case c = random_case(i);
    const Attended got = ops::attend(c.q, c.k, c.v, {}, c.options);
    const double queries = static_cast<double>(c.q.size(2)), keys = static_cast<double>(c.k.size(2));
    EXPECT_GE(got.weights.min().item<double>(), 0) << c.name;
    expect_near(got.weights.sum(3), at::ones_like(got.log_sum_exp), 1e-6, c.name);
    expect_near(got.key_sums.sum(2) / queries, at::ones({c.q.size(0), c.q.size(1)}), 1e-6, c.name);
    EXPECT_GE(got.entropy.min().item<double>(), -1e-5) << c.name;
    EXPECT_LE(got.entropy.max().item<double>(), std::log(keys) + 1e-5) << c.name;
  }
}

}  // namespace
}  // namespace gaze
