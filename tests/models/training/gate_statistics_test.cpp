#include "models/training/gate_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <utility>

namespace gaze::models {
namespace {

AttentionMap map_of(const std::string& name, AttentionMap::Kind kind, const torch::Tensor& values) {
  return {name, kind, values};
}

TEST(GateStatistics, are_over_all_values_of_a_gate) {
  GateStatistics statistics;
  const auto kind = AttentionMap::Kind::channel;
  statistics.add({map_of("b.0/channel", kind, torch::tensor({{0.0F, 1.0F}})),
                  map_of("a.0/spatial", AttentionMap::Kind::spatial, torch::full({1, 2, 2}, 0.52F)),
                  map_of("c.0/tokens", AttentionMap::Kind::token, torch::full({1, 2, 2}, 0.5F))});
  statistics.add({map_of("b.0/channel", kind, torch::tensor({{0.5F, 0.3F}}))});
  const std::vector<GateSummary> gates = statistics.summaries();
  ASSERT_EQ(gates.size(), 2U);
  EXPECT_EQ(gates[0].name, "a.0/spatial");
  EXPECT_EQ(gates[1].name, "b.0/channel");
  EXPECT_EQ(gates[1].count, 4);
  EXPECT_NEAR(gates[1].mean, 0.45, 1e-6);
  EXPECT_NEAR(gates[1].deviation, std::sqrt(1.34 / 4 - 0.45 * 0.45), 1e-6);
  EXPECT_EQ(gates[1].near_zero, 0.25);
  EXPECT_EQ(gates[1].near_half, 0.25);
  EXPECT_EQ(gates[1].near_one, 0.25);
  EXPECT_EQ(gates[1].stuck_at(), "");
}

TEST(GateStatistics, stuck_gates_are_told) {
  for (const auto& [value, at] : {std::pair<float, std::string>{0.02F, "0"}, {0.48F, "0.5"}, {0.98F, "1"}}) {
    GateStatistics statistics;
    torch::Tensor values = torch::full({4, 10}, value);
    values[0][0] = 0.25;  // one of forty
    statistics.add({map_of("a.0/channel", AttentionMap::Kind::channel, values)});
    EXPECT_EQ(statistics.summaries()[0].stuck_at(), at);
    values[0].fill_(0.25);
    GateStatistics moving;
    moving.add({map_of("a.0/channel", AttentionMap::Kind::channel, values)});
    EXPECT_EQ(moving.summaries()[0].stuck_at(), "");
  }
  std::vector<GateSummary> gates(12);
  for (size_t i = 0; i < gates.size(); ++i) {
    gates[i].name = "g" + std::to_string(i);
    (i == 0 ? gates[i].near_zero : i == 1 ? gates[i].near_half : gates[i].near_one) = 0.96;
  }
  EXPECT_THAT(
      stuck_lines(gates),
      ::testing::ElementsAre(
          "a gate is stuck at 0 (95 % of its values or more are within 0.05 of it) and lets nothing pass: g0",
          "a gate is stuck at 0.5 (95 % of its values or more are within 0.05 of it) and halves everything "
          "alike: g1",
          "10 gates are stuck at 1 (95 % of their values or more are within 0.05 of it) and let everything "
          "pass "
          "unchanged: g2, g3, g4, g5, g6, g7, g8, g9 and 2 more"));
  EXPECT_TRUE(stuck_lines({}).empty());
}

}  // namespace
}  // namespace gaze::models
