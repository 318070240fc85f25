#include "tests/support/golden_weights.h"

#include <torch/utils.h>

#include <cmath>

namespace gaze::test {

uint64_t fnv1a(const void* data, size_t bytes) {
  uint64_t state = 0xCBF29CE484222325;
  for (size_t i = 0; i < bytes; ++i)
    state = (state ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3;
  return state;
}

torch::Tensor golden_noise(const std::string& key, at::IntArrayRef shape, uint64_t seed) {
  torch::Tensor noise = torch::empty(shape, torch::kFloat);
  float* values = noise.data_ptr<float>();
  uint64_t state = fnv1a(key.data(), key.size()) ^ seed;
  for (int64_t i = 0; i < noise.numel(); ++i) {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    values[i] = static_cast<float>(static_cast<int64_t>(z >> 40) - (1 << 23)) / (1 << 23);
  }
  return noise;
}

torch::Tensor golden_tensor(const std::string& key, at::IntArrayRef shape, uint64_t seed,
                            const std::map<std::string, NormStatistics>& norms) {
  const size_t dot = key.rfind('.');
  const std::string layer = dot == std::string::npos ? "" : key.substr(0, dot);
  const std::string leaf = key.substr(dot + 1);
  if (leaf == "num_batches_tracked") return torch::zeros(shape, torch::kLong);
  double scale = 0.1, offset = 0;
  if (shape.size() >= 2) {
    int64_t fan_in = 1;
    for (size_t axis = 1; axis < shape.size(); ++axis) fan_in *= shape[axis];
    scale = std::sqrt(6.0 / static_cast<double>(fan_in));
  } else if (leaf == "running_mean") {
    scale = 0.3 * std::sqrt(norms.at(layer).variance);
    offset = norms.at(layer).mean;
  } else if (leaf == "running_var") {
    scale = 0.3 * norms.at(layer).variance;
    offset = norms.at(layer).variance;
  } else if (leaf == "weight") {
    offset = 1;
  }
  // Two operations, each rounded, as in Python.
  return golden_noise(key, shape, seed).mul(scale).add(offset);
}

void fill_golden(torch::nn::Module& module, uint64_t seed,
                 const std::map<std::string, NormStatistics>& norms) {
  const torch::NoGradGuard no_grad;
  for (const auto& item : module.named_parameters())
    item.value().copy_(golden_tensor(item.key(), item.value().sizes(), seed, norms));
  for (const auto& item : module.named_buffers())
    item.value().copy_(golden_tensor(item.key(), item.value().sizes(), seed, norms));
}

}  // namespace gaze::test
