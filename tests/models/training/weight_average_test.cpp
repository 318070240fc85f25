#include "models/training/weight_average.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace gaze::models {
namespace {

torch::nn::Sequential network_of(double weight) {
  torch::nn::Sequential network(torch::nn::Linear(torch::nn::LinearOptions(1, 1).bias(false)),
                                torch::nn::BatchNorm1d(1));
  const torch::NoGradGuard no_grad;
  network->parameters()[0].fill_(weight);
  return network;
}

TEST(WeightAverage, forgets_its_first_weights_soon_and_then_decays) {
  torch::nn::Sequential network = network_of(0), average = network_of(8);
  WeightAverage averaging(average.ptr(), 0.5);
  averaging.update(*network, 0);  // keeps 1 / 10
  EXPECT_FLOAT_EQ(average->parameters()[0].item<float>(), 0.8F);
  averaging.update(*network, 1);  // keeps 2 / 11
  EXPECT_FLOAT_EQ(average->parameters()[0].item<float>(), 1.6F / 11);
  averaging.update(*network, 1000);  // keeps a half
  EXPECT_FLOAT_EQ(average->parameters()[0].item<float>(), 0.8F / 11);
  EXPECT_FALSE(average->parameters()[0].requires_grad());
}

TEST(WeightAverage, copies_what_is_frozen_and_the_statistics) {
  torch::nn::Sequential network = network_of(3), average = network_of(8);
  network->parameters()[0].set_requires_grad(false);
  network->buffers()[0].fill_(7);  // the running mean
  WeightAverage(average.ptr(), 0.9).update(*network, 1000);
  EXPECT_EQ(average->parameters()[0].item<float>(), 3);
  EXPECT_EQ(average->buffers()[0].item<float>(), 7);
}

}  // namespace
}  // namespace gaze::models
