// A named place in a network that holds any number of attention blocks, usually none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "modules/attention/block.h"

namespace gaze {

// State keys are "<slot>.<index>.<the block's own keys>": "layer3.5.attn.0.fc1.weight". An empty slot has
// none and costs a branch. `forward` runs the blocks in order, each inside MapPlace("<name>.<index>").
class SlotImpl : public torch::nn::Module {
 public:
  // `name` is the slot's full name in its network ("layer3.5.attn"); `channels` what its blocks are told.
  SlotImpl(std::string name, int64_t channels);

  torch::Tensor forward(const torch::Tensor& x);

  void add(std::shared_ptr<AttentionBlock> block);
  void clear();

  bool empty() const { return blocks_.empty(); }
  const std::vector<std::shared_ptr<AttentionBlock>>& blocks() const { return blocks_; }
  const std::string& full_name() const { return name_; }
  int64_t channels() const { return channels_; }
  std::string spec() const;  // "se(reduction=16)+cbam(reduction=16, kernel=7)" or "none"

  void pretty_print(std::ostream& stream) const override;

 private:
  std::string name_;
  int64_t channels_;
  std::vector<std::shared_ptr<AttentionBlock>> blocks_;
};
TORCH_MODULE(Slot);

}  // namespace gaze
