// What every attention block must do, whatever it computes.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "modules/attention/block.h"
#include "modules/attention/registry.h"
#include "modules/attention/stage_memory.h"
#include "tests/support/awkward_shapes.h"
#include "tests/support/near.h"

namespace gaze::test {

// A slot of the third stage whose second has 4 channels.
inline SlotPlace place_of(int64_t channels) {
  SlotPlace place;
  place.name = "layer3.0.attn";
  place.channels = channels;
  place.earlier = {{"layer2", 4, 8}};
  place.step = 16;
  return place;
}

inline std::shared_ptr<AttentionBlock> block_of(const std::string& spec, int64_t channels,
                                                Init init = Init::paper) {
  return make_block(parse_block_specs(spec).at(0), place_of(channels), init);
}

// Cells of the second stage beside x [B, C, H, W]: [B, 4, H + 1, 2W], always the same.
inline torch::Tensor memory_beside(const torch::Tensor& x) {
  const int64_t B = x.size(0), H = x.size(2) + 1, W = 2 * x.size(3);
  return torch::arange(B * 4 * H * W, torch::kDouble).mul(0.7).sin().view({B, 4, H, W}).to(x.scalar_type());
}

// forward, or forward_to_end with a shortcut, as a network runs it.
inline torch::Tensor run(AttentionBlock& block, const torch::Tensor& x, const torch::Tensor& shortcut = {}) {
  StageMemory stages;
  if (!block.memory().empty()) stages.put(block.memory(), memory_beside(x));
  return shortcut.defined() ? block.forward_to_end(x, shortcut) : block.forward(x);
}

inline void randomise(torch::nn::Module& module) {
  const torch::NoGradGuard guard;
  for (torch::Tensor& parameter : module.parameters()) parameter.normal_(0, 0.5);
}

inline std::vector<std::string> keys_of(const torch::nn::Module& module) {
  std::vector<std::string> keys;
  for (const auto& item : module.named_parameters()) keys.push_back(item.key());
  for (const auto& item : module.named_buffers()) keys.push_back(item.key());
  return keys;
}

// Learned numbers that one block of `spec` a residual block adds to a ResNet whose stages have these channels
// and blocks.
inline int64_t added(const std::string& spec, const std::vector<std::pair<int64_t, int64_t>>& stages) {
  int64_t sum = 0;
  for (const auto& [channels, blocks] : stages) sum += blocks * block_of(spec, channels)->parameter_count();
  return sum;
}
inline int64_t added_to_resnet18(const std::string& spec) {
  return added(spec, {{64, 2}, {128, 2}, {256, 2}, {512, 2}});
}
inline int64_t added_to_resnet50(const std::string& spec) {
  return added(spec, {{256, 3}, {512, 4}, {1024, 6}, {2048, 3}});
}

}  // namespace gaze::test
