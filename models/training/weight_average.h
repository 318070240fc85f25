// The moving average of a network's weights over its training, which usually judges better than the last
// weights.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

namespace gaze::models {

// average += (1 - d) (weight - average) with d = min(decay, (1 + n) / (10 + n)) after n updates, so that the
// first weights are forgotten soon. Frozen parameters and buffers (norm statistics) are copied.
class WeightAverage {
 public:
  // `average`: a network of the same build, whose weights become the average. decay in [0, 1).
  WeightAverage(std::shared_ptr<torch::nn::Module> average, double decay);

  // The n-th update, n counted from 0.
  void update(const torch::nn::Module& network, int64_t n);

 private:
  std::shared_ptr<torch::nn::Module> average_;
  double decay_;
};

}  // namespace gaze::models
