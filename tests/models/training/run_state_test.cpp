#include "models/training/run_state.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

torch::optim::AdamW optimizer_of(torch::nn::Linear& layer) {
  return torch::optim::AdamW(layer->parameters(), torch::optim::AdamWOptions(0.1).weight_decay(0.01));
}

void take_step(torch::nn::Linear& layer, torch::optim::AdamW& optimizer, double input) {
  optimizer.zero_grad();
  layer->forward(torch::full({2, 3}, input)).pow(2).sum().backward();
  optimizer.step();
}

TEST(RunState, goes_on_with_the_same_bits) {
  torch::manual_seed(3);
  const test::TemporaryFolder folder;
  torch::nn::Linear straight(3, 2);
  torch::optim::AdamW straight_optimizer = optimizer_of(straight);
  for (double input : {1.0, -2.0}) take_step(straight, straight_optimizer, input);
  write_run_state(folder.path() / "state.safetensors",
                  {{{"step", 2}}, pack({{"net.", straight.ptr()}}, straight_optimizer)});

  torch::nn::Linear resumed(3, 2);
  torch::optim::AdamW resumed_optimizer = optimizer_of(resumed);
  const RunState state = read_run_state(folder.path() / "state.safetensors");
  EXPECT_EQ(state.progress.at("step"), 2);
  unpack(state.tensors, {{"net.", resumed.ptr()}}, resumed_optimizer);
  for (double input : {0.5, 3.0, -1.0}) {
    take_step(straight, straight_optimizer, input);
    take_step(resumed, resumed_optimizer, input);
  }
  EXPECT_TRUE(torch::equal(straight->weight, resumed->weight));
  EXPECT_TRUE(torch::equal(straight->bias, resumed->bias));
}

TEST(
    RunState,
    weights_without_moments_are_not_the_same_run) {  // what the test above would miss if moments were dropped
  torch::manual_seed(3);
  torch::nn::Linear straight(3, 2);
  torch::optim::AdamW optimizer = optimizer_of(straight);
  take_step(straight, optimizer, 1.0);
  const StateDict tensors = pack({{"net.", straight.ptr()}}, optimizer);
  EXPECT_EQ(tensors.count("exp_avg/net.weight"), 1U);
  EXPECT_EQ(tensors.count("exp_avg_sq/net.bias"), 1U);
  EXPECT_EQ(tensors.at("step/net.weight").item<int64_t>(), 1);
}

TEST(RunState, keeps_the_momentum_of_sgd) {
  torch::manual_seed(3);
  torch::nn::Linear straight(3, 2), resumed(3, 2);
  const torch::optim::SGDOptions options = torch::optim::SGDOptions(0.1).momentum(0.9);
  torch::optim::SGD straight_optimizer(straight->parameters(), options);
  torch::optim::SGD resumed_optimizer(resumed->parameters(), options);
  const auto step = [](torch::nn::Linear& layer, torch::optim::SGD& optimizer) {
    optimizer.zero_grad();
    layer->forward(torch::ones({2, 3})).pow(2).sum().backward();
    optimizer.step();
  };
  step(straight, straight_optimizer);
  const StateDict tensors = pack({{"net.", straight.ptr()}}, straight_optimizer);
  EXPECT_EQ(tensors.count("momentum/net.weight"), 1U);
  unpack(tensors, {{"net.", resumed.ptr()}}, resumed_optimizer);
  step(straight, straight_optimizer);
  step(resumed, resumed_optimizer);
  EXPECT_TRUE(torch::equal(straight->weight, resumed->weight));
}

TEST(RunState, another_recipes_state_is_refused) {
  torch::nn::Linear small(3, 2), large(4, 2);
  torch::optim::AdamW small_optimizer = optimizer_of(small), large_optimizer = optimizer_of(large);
  EXPECT_THROW(
      unpack(pack({{"net.", small.ptr()}}, small_optimizer), {{"net.", large.ptr()}}, large_optimizer),
      ArgumentError);
}

}  // namespace
}  // namespace gaze::models
