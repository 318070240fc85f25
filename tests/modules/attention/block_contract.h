// What every attention block must do, whatever it computes.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "modules/attention/block.h"
#include "modules/attention/registry.h"
#include "tests/support/awkward_shapes.h"
#include "tests/support/near.h"

namespace gaze::test {

inline std::shared_ptr<AttentionBlock> block_of(const std::string& spec, int64_t channels) {
  return make_block(parse_block_specs(spec).at(0), SlotPlace{"slot", channels, 1, {}});
}

// Shape, dtype, memory format; any size in training and evaluation; half types; one picture of one cell in
// training.
inline void expect_keeps_the_map(const std::string& spec) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    const auto block = block_of(spec, 6);
    block->to(dtype);
    for (const bool training : {true, false}) {
      block->train(training);
      std::vector<NamedMap> maps = awkward_maps(dtype, 6);
      maps.push_back({"one cell of one picture", at::randn({1, 6, 1, 1}).to(dtype)});
      for (const NamedMap& map : maps) {
        const std::string context = spec + ", " + map.name + (training ? ", training" : ", evaluation");
        const torch::Tensor y = block->forward(map.x);
        EXPECT_EQ(y.sizes(), map.x.sizes()) << context;
        EXPECT_EQ(y.scalar_type(), dtype) << context;
        EXPECT_EQ(y.suggest_memory_format(), map.x.suggest_memory_format()) << context;
        EXPECT_TRUE(torch::isfinite(y).all().item<bool>()) << context;
      }
    }
  }
}

// `spec` names a block with init=identity: bit-equal at insertion in both modes, gradients not all zero, one
// step changes it.
inline void expect_identity(const std::string& spec) {
  torch::manual_seed(1);
  for (const bool training : {true, false}) {
    const auto block = block_of(spec, 32);
    block->train(training);
    EXPECT_EQ(block->named_parameters()["mix"].item<float>(), 0.0F);
    const torch::Tensor x = torch::randn({2, 32, 5, 3});
    const torch::Tensor before = block->forward(x);
    EXPECT_TRUE(torch::equal(before, x)) << spec;
    torch::optim::SGD optimizer(block->parameters(), 0.1);
    (before * torch::randn_like(before)).sum().backward();
    double largest = 0;
    for (const torch::Tensor& parameter : block->parameters()) {
      if (parameter.grad().defined())
        largest = std::max(largest, parameter.grad().abs().max().item<double>());
    }
    EXPECT_GT(largest, 0) << spec;
    optimizer.step();
    EXPECT_FALSE(torch::equal(block->forward(x), x)) << spec;
  }
}

inline std::vector<std::string> keys_of(const torch::nn::Module& module) {
  std::vector<std::string> keys;
  for (const auto& item : module.named_parameters()) keys.push_back(item.key());
  for (const auto& item : module.named_buffers()) keys.push_back(item.key());
  return keys;
}

// Learned numbers that one block of `spec` a residual block adds to ResNet-50.
inline int64_t added_to_resnet50(const std::string& spec) {
  int64_t sum = 0;
  for (const auto& [channels, blocks] :
       std::vector<std::pair<int64_t, int64_t>>{{256, 3}, {512, 4}, {1024, 6}, {2048, 3}}) {
    sum += blocks * block_of(spec, channels)->parameter_count();
  }
  return sum;
}

}  // namespace gaze::test
