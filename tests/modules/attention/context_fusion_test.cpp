#include "modules/attention/context_fusion.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <sstream>

#include "modules/core/error.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/gradient_check.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

using test::expect_near;

ContextFusion fusion_of(FusionKind kind, int64_t state_width, int64_t context_width = 0) {
  ContextFusionOptions options;
  options.kind = kind;
  options.state_width = state_width;
  options.context_width = context_width;
  ContextFusion fusion(options);
  fusion->to(torch::kDouble);
  return fusion;
}

torch::Tensor row(const std::vector<double>& numbers) {
  return torch::tensor(numbers, torch::kDouble).unsqueeze(0);
}

// State [.6 .4] and context [.45 .55]: [.6 .4 .45 .55], and [1.05 .95].
TEST(ContextFusion, worked_example) {
  const torch::Tensor state = row({0.6, 0.4}), context = row({0.45, 0.55});
  const auto fused = [&](FusionKind kind) { return fusion_of(kind, 2)->forward(state, context); };
  EXPECT_TRUE(torch::equal(fused(FusionKind::concatenation), row({0.6, 0.4, 0.45, 0.55})));
  expect_near(fused(FusionKind::addition), row({1.05, 0.95}), 1e-15, "addition");
}

// Row 0 of W picks s0 and c0, row 1 c1 alone: g0 = sigmoid(2·.6 − 4·.45 + .6) = sigmoid(0) = 1/2, g1 =
// sigmoid(2·.55 + ln 3 − 1.1) = 3/4.
TEST(ContextFusion, gate_by_hand) {
  ContextFusion fusion = fusion_of(FusionKind::gate, 2);
  const torch::NoGradGuard guard;
  auto parameters = fusion->named_parameters();
  parameters["gate.weight"].copy_(
      torch::tensor({2.0, 0.0, -4.0, 0.0, 0.0, 0.0, 0.0, 2.0}, torch::kDouble).view({2, 4}));
  parameters["gate.bias"].copy_(torch::tensor({0.6, std::log(3.0) - 1.1}, torch::kDouble));
  const torch::Tensor got = fusion->forward(row({0.6, 0.4}), row({0.45, 0.55}));
  expect_near(got, row({0.5 * 0.6 + 0.5 * 0.45, 0.75 * 0.4 + 0.25 * 0.55}), 1e-15, "gate");
}

TEST(ContextFusion, gate_is_its_formula_over_steps) {
  torch::manual_seed(1);
  const int64_t B = 2, T = 3, D = 5;
  ContextFusion fusion = fusion_of(FusionKind::gate, D);
  test::randomise(*fusion);
  const torch::Tensor state = torch::randn({B, T, D}, torch::kDouble),
                      context = torch::randn({B, T, D}, torch::kDouble);
  auto parameters = fusion->named_parameters();
  torch::Tensor expected = torch::zeros({B, T, D}, torch::kDouble);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t d = 0; d < D; ++d) {
        double sum = parameters["gate.bias"][d].item<double>();
        for (int64_t i = 0; i < D; ++i) {
          sum += parameters["gate.weight"][d][i].item<double>() * state[b][t][i].item<double>();
          sum += parameters["gate.weight"][d][D + i].item<double>() * context[b][t][i].item<double>();
        }
        const double g = 1 / (1 + std::exp(-sum));
        expected[b][t][d] = g * state[b][t][d].item<double>() + (1 - g) * context[b][t][d].item<double>();
      }
  expect_near(fusion->forward(state, context), expected, 1e-14, "steps");
  expect_near(fusion->forward(state.select(1, 2), context.select(1, 2)), expected.select(1, 2), 1e-14, "one");
  test::expect_gradients(
      [&](const auto& in) { return std::vector<torch::Tensor>{fusion->forward(in[0], in[1])}; },
      {state, context}, "gate");
}

TEST(ContextFusion, widths_keys_and_print) {
  ContextFusion joined = fusion_of(FusionKind::concatenation, 4, 6), gate = fusion_of(FusionKind::gate, 4);
  EXPECT_EQ(joined->output_width(), 10);
  EXPECT_EQ(joined->forward(torch::zeros({2, 3, 4}), torch::zeros({2, 3, 6})).sizes(),
            at::IntArrayRef({2, 3, 10}));
  EXPECT_EQ(gate->output_width(), 4);
  EXPECT_EQ(fusion_of(FusionKind::addition, 4)->output_width(), 4);
  EXPECT_TRUE(test::keys_of(*joined).empty());
  EXPECT_EQ(test::keys_of(*gate), (std::vector<std::string>{"gate.weight", "gate.bias"}));
  EXPECT_EQ(gate->parameters()[0].sizes(), at::IntArrayRef({4, 8}));
  std::ostringstream stream;
  joined->pretty_print(stream);
  EXPECT_EQ(stream.str(), "gaze::ContextFusion(kind=concatenation, state_width=4, context_width=6)");
}

TEST(ContextFusion, errors_name_what_was_expected_and_what_came) {
  const auto expect_error = [](auto&& call, const std::string& text) {
    EXPECT_THROWS_WITH(call(), ArgumentError, "[context_fusion] expected " + text);
  };
  expect_error([] { fusion_of(FusionKind::gate, 0); }, "state_width >= 1; got state_width 0");
  expect_error([] { fusion_of(FusionKind::concatenation, 1, -2); },
               "context_width >= 1; got context_width -2");
  expect_error([] { fusion_of(FusionKind::addition, 4, 6); },
               "context_width 4 like state_width for addition; got context_width 6");
  ContextFusion gate = fusion_of(FusionKind::gate, 2);
  const torch::Tensor state = torch::zeros({3, 2}, torch::kDouble);
  expect_error([&] { gate->forward({}, state); }, "state [B, T, state_width=2]; got state undefined");
  expect_error(
      [&] {
        gate->forward(state, torch::zeros({3, 1, 2}));
      },
      "context [B=3, context_width=2]; got context [3, 1, 2]");
  expect_error(
      [&] {
        gate->forward(state.unsqueeze(0), torch::zeros({1, 2, 2}));
      },
      "context [B=1, T=3, context_width=2]; got context [1, 2, 2]");
  expect_error([&] { gate->forward(state, state.to(torch::kFloat)); },
               "context Double on cpu like state; got context Float on cpu");
  expect_error([&] { gate->forward(state.to(torch::kFloat), state.to(torch::kFloat)); },
               "gate.weight Float on cpu like state; got gate.weight Double on cpu");
  expect_error([&] { gate->forward(state.to(torch::kLong), state.to(torch::kLong)); },
               "state float64, float32, bfloat16 or float16; got state Long");
}

}  // namespace
}  // namespace gaze
