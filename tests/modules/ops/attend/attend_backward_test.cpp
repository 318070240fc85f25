#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdio>
#include <string>
#include <vector>

#include "modules/ops/attend/attend.h"
#include "modules/ops/attend/attend_rooms.h"
#include "tests/modules/ops/attend/attend_reference.h"
#include "tests/support/counted_memory.h"
#include "tests/support/cpu_isas.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"

namespace gaze {
namespace {

using ops::Attended;
using ops::AttendOptions;
using ops::AttendWeights;
using ops::kAttendMaxError;
using test::expect_near;
using test::with_weights;

class AttendBackward : public test::OnCpuIsa {};
INSTANTIATE_TEST_SUITE_P(, AttendBackward, test::every_cpu_isa(), test::cpu_isa_of);

TEST_P(AttendBackward, agrees_with_central_differences) {
  torch::manual_seed(3);
  const auto random = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
  const std::vector<at::Tensor> qkv{random({2, 2, 3, 3}), random({2, 2, 4, 3}), random({2, 2, 4, 2})};
  const auto both = [](const Attended& got) { return std::vector<at::Tensor>{got.output, got.weights}; };
  test::expect_gradients(
      [&](const auto& in) { return both(ops::attend(in[0], in[1], in[2], {}, with_weights())); }, qkv,
      "output and weights");
  test::expect_gradients(
      [&](const auto& in) { return std::vector<at::Tensor>{ops::attend(in[0], in[1], in[2]).output}; }, qkv,
      "output alone");
  test::expect_gradients(
      [&](const auto& in) { return both(ops::attend(in[0], in[1], in[2], {}, with_weights(true))); }, qkv,
      "causal");
  at::Tensor mask = at::rand({2, 1, 3, 4}) > 0.4;
  mask[0][0][1].fill_(false);
  AttendOptions scaled = with_weights();
  scaled.scale = 0.7;
  test::expect_gradients([&](const auto& in) { return both(ops::attend(in[0], in[1], in[2], mask, scaled)); },
                         qkv, "bool mask with an empty row");
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 2, 3, 4}, {1, 2, 1, 4}, {3, 4}, {4}}) {
    std::vector<at::Tensor> inputs = qkv;
    inputs.push_back(random(shape));
    test::expect_gradients(
        [&](const auto& in) { return both(ops::attend(in[0], in[1], in[2], in[3], with_weights())); }, inputs,
        fmt::format("additive mask of {} dimensions", shape.size()));
  }
}

TEST_P(AttendBackward, weights_alone_carry_gradient) {
  torch::manual_seed(4);
  const std::vector<at::Tensor> qk{at::randn({1, 2, 3, 2}, at::kDouble),
                                   at::randn({1, 2, 4, 2}, at::kDouble)};
  const at::Tensor v = at::randn({1, 2, 4, 2}, at::kDouble);
  test::expect_gradients(
      [&](const auto& in) {
        return std::vector<at::Tensor>{ops::attend(in[0], in[1], v, {}, with_weights()).weights};
      },
      qk, "weights");
  AttendOptions mean;
  mean.weights = AttendWeights::head_mean;
  test::expect_gradients(
      [&](const auto& in) {
        const Attended got = ops::attend(in[0], in[1], v, {}, mean);
        return std::vector<at::Tensor>{got.output, got.weights};
      },
      qk, "output and mean over heads");
}

TEST_P(AttendBackward, a_masked_row_has_zero_gradient_not_nan) {
  const at::Tensor q = at::randn({1, 1, 2, 3}).requires_grad_(true),
                   k = at::randn({1, 1, 4, 3}).requires_grad_(true);
  const at::Tensor v = at::randn({1, 1, 4, 3}).requires_grad_(true);
  ops::attend(q, k, v, at::zeros({2, 4}, at::kBool)).output.sum().backward();
  for (const at::Tensor& x : {q, k, v}) EXPECT_TRUE(at::equal(x.grad(), at::zeros_like(x)));
}

TEST_P(AttendBackward, half_types_follow_float) {
  torch::manual_seed(5);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    std::vector<at::Tensor> narrow, wide;
    for (int i = 0; i < 3; ++i) {
      const at::Tensor x = at::randn({2, 2, 5, 4}).to(dtype);
      narrow.push_back(x.clone().requires_grad_(true));
      wide.push_back(x.to(at::kDouble).requires_grad_(true));
    }
    ops::attend(narrow[0], narrow[1], narrow[2]).output.sum().backward();
    ops::attend(wide[0], wide[1], wide[2]).output.sum().backward();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(narrow[i].grad().scalar_type(), dtype);
      expect_near(narrow[i].grad(), wide[i].grad(), kAttendMaxError.of(dtype), c10::toString(dtype));
    }
  }
}

TEST_P(AttendBackward, is_deterministic) {
  torch::manual_seed(6);
  const at::Tensor q = at::randn({4, 8, 32, 16}).requires_grad_(true),
                   k = at::randn({4, 8, 49, 16}).requires_grad_(true);
  const auto gradients = [&] {
    return torch::autograd::grad({ops::attend(q, k, k).output.square().sum()}, {q, k});
  };
  const auto first = gradients(), second = gradients();
  EXPECT_TRUE(at::equal(first[0], second[0]) && at::equal(first[1], second[1]));
}

TEST_P(AttendBackward, twice_is_an_error_not_a_wrong_number) {
  const at::Tensor q = at::randn({1, 1, 2, 2}).requires_grad_(true);
  const auto first = torch::autograd::grad({ops::attend(q, q, q).output.sum()}, {q}, {}, true, true);
  EXPECT_THROW(torch::autograd::grad({first[0].sum()}, {q}), std::exception);
}

// Every bias, each kind of weights, all statistics, dropout: one gradient through all of them.
TEST_P(AttendBackward, agrees_with_central_differences_through_everything) {
  torch::manual_seed(21);
  const auto random = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
  const std::vector<at::Tensor> inputs{random({2, 2, 5, 3}), random({2, 2, 6, 3}), random({2, 2, 6, 2}),
                                       random({1, 2, 5, 6}), random({2, 5}),       random({2, 1, 5, 2}),
                                       random({1, 2, 1, 3})};
  const at::Tensor mask = at::rand({2, 1, 5, 6}) > 0.2, key_mask = at::rand({2, 6}) > 0.2;
  const auto with = [&](AttendWeights weights, double dropout, bool inside, bool causal) {
    return [=](const std::vector<at::Tensor>& in) {
      AttendOptions o;
      o.weights = weights;
      if (weights == AttendWeights::rows) o.rows = {3, 0};
      o.key_sums = o.entropy = true;
      o.bias = in[3];
      o.relative = in[4];
      o.row_bias = in[5];
      o.column_bias = in[6];
      o.key_mask = key_mask;
      o.relative_inside = inside;
      o.causal = causal;
      o.dropout = dropout;
      o.seed = 9;
      const Attended got = ops::attend(in[0], in[1], in[2], mask, o);
      std::vector<at::Tensor> all{got.output, got.key_sums, got.entropy};
      if (weights != AttendWeights::none) all.push_back(got.weights);
      all.push_back(got.log_sum_exp.masked_fill(at::isinf(got.log_sum_exp), 0));
      return all;
    };
  };
  test::expect_gradients(with(AttendWeights::per_head, 0, false, false), inputs, "per head");
  test::expect_gradients(with(AttendWeights::head_mean, 0, true, false), inputs, "head mean, inside");
  test::expect_gradients(with(AttendWeights::rows, 0.3, false, false), inputs, "rows, dropout");
  test::expect_gradients(with(AttendWeights::none, 0.3, true, true), inputs, "causal, dropout, inside");
}

TEST_P(AttendBackward, one_query_and_one_key) {
  torch::manual_seed(22);
  for (const int64_t T : {1, 2, 3}) {  // fewer queries than the kernel takes at once
    const std::vector<at::Tensor> qkv{at::randn({1, 2, T, 3}, at::kDouble),
                                      at::randn({1, 2, 5, 3}, at::kDouble),
                                      at::randn({1, 2, 5, 2}, at::kDouble)};
    test::expect_gradients(
        [&](const auto& in) {
          AttendOptions o = with_weights();
          o.key_sums = o.entropy = true;
          const Attended got = ops::attend(in[0], in[1], in[2], {}, o);
          return std::vector<at::Tensor>{got.output, got.weights, got.key_sums, got.entropy, got.log_sum_exp};
        },
        qkv, fmt::format("T {}", T));
  }
}

// The kernel against the composed room, which the central differences hold up: wide heads, several pieces of
// one head's queries, several tiles of keys, every dtype.
TEST_P(AttendBackward, agrees_with_the_composed_room_on_large_shapes) {
  torch::manual_seed(23);
  struct Case {
    int64_t B, N, T, S, D, V;
    at::ScalarType dtype;
    bool causal;
  };
  for (const Case& z : {Case{1, 1, 131, 70, 20, 33, at::kFloat, false},
                        {1, 2, 67, 67, 64, 64, at::kDouble, true},
                        {5, 4, 33, 31, 16, 8, at::kFloat, true},
                        {1, 1, 9, 8200, 4, 3, at::kDouble, false},
                        {1, 1, 4099, 4100, 2, 2, at::kDouble, true},
                        {2, 2, 50, 41, 24, 24, at::kBFloat16, false},
                        {2, 2, 50, 41, 24, 24, at::kHalf, false}}) {
    const auto random = [&](int64_t rows, int64_t width) {
      return at::randn({z.B, z.N, rows, width}, at::kDouble).to(z.dtype);
    };
    const at::ScalarType wide = z.dtype == at::kDouble ? at::kDouble : at::kFloat;
    const detail::AttendInputs in{random(z.T, z.D), random(z.S, z.D), random(z.S, z.V)};
    const detail::AttendRules rules{std::nullopt, z.causal, false, 0.1, 3};
    const detail::AttendAsked asked{AttendWeights::none, {}, true, true};
    const at::Tensor log_sum_exp = std::get<1>(detail::call_attend(in, rules, asked));
    const detail::AttendGrads grads{random(z.T, z.V), at::randn({z.B, z.N, z.T}).to(wide), std::nullopt,
                                    at::randn({z.B, z.N, z.S}).to(wide), at::randn({z.B, z.N, z.T}).to(wide)};
    const auto got = detail::call_attend_backward(in, rules, asked, log_sum_exp, grads, {});
    const auto expected = detail::attend_backward_composed(in, rules, asked, log_sum_exp, grads, {});
    const std::string context = fmt::format("T {} S {} {}", z.T, z.S, c10::toString(z.dtype));
    const double bound = z.dtype == at::kDouble ? 1e-12 : kAttendMaxError.of(z.dtype);
    expect_near(std::get<0>(got), std::get<0>(expected), bound, context + " q");
    expect_near(std::get<1>(got), std::get<1>(expected), bound, context + " k");
    expect_near(std::get<2>(got), std::get<2>(expected), bound, context + " v");
  }
}

// Scores of 4096 queries and keys of 8 heads would be 512 MiB, and as much again for their gradients.
TEST(AttendMemory, grows_with_queries_and_keys_not_with_their_product) {
  torch::manual_seed(24);
  test::CountedMemory memory;
  const auto random = [] { return at::randn({1, 8, 4096, 64}).requires_grad_(true); };
  const at::Tensor q = random(), k = random(), v = random(), grad = at::randn({1, 8, 4096, 64});
  AttendOptions o;
  o.key_sums = true;
  const auto above = [&](int64_t inputs_and_outputs, const char* pass) {
    const double mebibytes = static_cast<double>(memory.peak() - inputs_and_outputs) / (1 << 20);
    std::printf("attend %s: %.1f MiB above inputs and outputs\n", pass, mebibytes);
    memory.reset_peak();
    return mebibytes;
  };
  memory.reset_peak();
  const Attended got = ops::attend(q, k, v, {}, o);
  const double forward = above(memory.current(), "forward");
  const auto grads =
      torch::autograd::grad({got.output, got.key_sums}, {q, k, v}, {grad, at::ones({1, 8, 4096})});
  const double backward = above(memory.current(), "backward");
  EXPECT_GT(std::min(forward, backward), 0);
  EXPECT_LE(std::max(forward, backward), 64);
}

}  // namespace
}  // namespace gaze
