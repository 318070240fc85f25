// The outputs of a network's stages, for blocks that look at an earlier one: "cross(memory=layer2)".
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

namespace gaze {

// A scope that a network opens around its forward pass where one of its slots holds a block with a memory.
// One a thread; scopes nest, the innermost counts.
class StageMemory {
 public:
  StageMemory();
  ~StageMemory();
  StageMemory(const StageMemory&) = delete;
  StageMemory& operator=(const StageMemory&) = delete;

  static StageMemory* current();

  void put(const std::string& stage, torch::Tensor output);  // [B, C, H, W]
  // Throws ArgumentError naming the stages that are there.
  const torch::Tensor& get(const std::string& stage) const;

 private:
  std::map<std::string, torch::Tensor> outputs_;
  StageMemory* outer_;
};

}  // namespace gaze
