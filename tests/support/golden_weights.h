// Weights made from a seed, as tests/golden/golden_weights.py makes them, so that none need to be committed.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <map>
#include <string>

namespace gaze::test {

// What reaches a norm in the golden network: its running statistics lie around these.
struct NormStatistics {
  double mean = 0;
  double variance = 1;
};

// FNV-1a, 64 bits.
uint64_t fnv1a(const void* data, size_t bytes);

// Uniform in [-1, 1), exact multiples of 2^-23: splitmix64 started at fnv1a(key) ^ seed.
torch::Tensor golden_noise(const std::string& key, at::IntArrayRef shape, uint64_t seed);

// The tensor of that full name and shape, float32; int64 zeros for a counter of batches.
torch::Tensor golden_tensor(const std::string& key, at::IntArrayRef shape, uint64_t seed,
                            const std::map<std::string, NormStatistics>& norms);

// Fills every parameter and buffer of `module` by its full name. `norms` names the layers with running
// statistics ("layer1.0.bn1"); one that is missing throws std::out_of_range.
void fill_golden(torch::nn::Module& module, uint64_t seed,
                 const std::map<std::string, NormStatistics>& norms);

}  // namespace gaze::test
