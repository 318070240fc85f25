#include "models/training/weight_average.h"

#include <torch/torch.h>

#include <algorithm>
#include <utility>

namespace gaze::models {

WeightAverage::WeightAverage(std::shared_ptr<torch::nn::Module> average, double decay)
    : average_(std::move(average)), decay_(decay) {
  for (torch::Tensor& parameter : average_->parameters()) parameter.set_requires_grad(false);
}

void WeightAverage::update(const torch::nn::Module& network, int64_t n) {
  const torch::NoGradGuard no_grad;
  const auto steps = static_cast<double>(n);
  const double keep = std::min(decay_, (1 + steps) / (10 + steps));
  std::vector<torch::Tensor> average = average_->parameters();
  const std::vector<torch::Tensor> weights = network.parameters();
  for (size_t i = 0; i < average.size(); ++i) {
    if (weights[i].requires_grad()) {
      average[i].lerp_(weights[i], 1 - keep);
    } else {
      average[i].copy_(weights[i]);
    }
  }
  std::vector<torch::Tensor> buffers = average_->buffers();
  const std::vector<torch::Tensor> latest = network.buffers();
  for (size_t i = 0; i < buffers.size(); ++i) buffers[i].copy_(latest[i]);
}

}  // namespace gaze::models
