// What the programs of the guide that train something share.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace guide {

// All that the modules learn, for one optimizer.
template <typename... Modules>
std::vector<torch::Tensor> parameters_of(const Modules&... modules) {
  std::vector<torch::Tensor> all;
  for (const std::vector<torch::Tensor>& some : {modules->parameters()...})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

inline int64_t count(const std::vector<torch::Tensor>& parameters) {
  int64_t numbers = 0;
  for (const torch::Tensor& parameter : parameters) numbers += parameter.numel();
  return numbers;
}

// One step against the gradient of the loss.
inline void learn(torch::optim::Optimizer& optimizer, const torch::Tensor& loss) {
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
}

// Of numbers, or of true (1) and false (0): a share.
inline double mean_of(const torch::Tensor& x) {
  return x.to(torch::kDouble).mean().item<double>();
}

// Spearman's rank correlation of the rows of a and b [B, S], mean over rows.
inline double rank_correlation(const torch::Tensor& a, const torch::Tensor& b) {
  const auto ranks = [](const torch::Tensor& x) {  // around 0
    return x.argsort(1, false).argsort(1, false) - (x.size(1) - 1) / 2.0;
  };
  return mean_of((ranks(a) * ranks(b)).sum(1) / ranks(a).square().sum(1));
}

}  // namespace guide
