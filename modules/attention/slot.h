// A named place in a network that holds any number of attention blocks, usually none.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "modules/attention/block.h"
#include "modules/attention/slot_place.h"

namespace gaze {

// State keys are "<slot>.<index>.<the block's own keys>": "layer3.5.attn.0.fc1.weight". An empty slot has
// none and costs a branch. `forward` runs the blocks in order, each inside MapPlace("<name>.<index>").
class SlotImpl : public torch::nn::Module {
 public:
  explicit SlotImpl(SlotPlace place);
  SlotImpl(std::string name, int64_t channels) : SlotImpl(SlotPlace{std::move(name), channels, 1, {}}) {}

  torch::Tensor forward(const torch::Tensor& x);

  // relu(forward(x) + shortcut), the last block doing the end in its own pass where it can. Takes x over: an
  // empty slot adds in place.
  torch::Tensor forward_to_end(torch::Tensor x, const torch::Tensor& shortcut);

  void add(std::shared_ptr<AttentionBlock> block);
  void clear() { set({}); }
  // Replaces what the slot holds. Throws ArgumentError where it would be left empty and its layer is lost.
  void set(std::vector<std::shared_ptr<AttentionBlock>> blocks);

  // Makes the slot stand in for the layer that `host`, the slot's owner, registered as `child`: while the
  // slot is filled the layer is not part of the host and its weights are in no state dict.
  void stand_in_for(torch::nn::Module& host, const std::string& child);
  const std::string& layer_name() const { return layer_name_; }  // "conv2"; empty for slots that only add
  const std::shared_ptr<torch::nn::Module>& layer() const { return layer_; }
  // Says that the layer a filled slot keeps holds no weights worth having: it can't come back.
  void lose_layer();
  bool layer_lost() const { return layer_lost_; }

  bool empty() const { return blocks_.empty(); }
  const std::vector<std::shared_ptr<AttentionBlock>>& blocks() const { return blocks_; }
  const std::string& full_name() const { return place_.name; }
  int64_t channels() const { return place_.channels; }
  const SlotPlace& place() const { return place_; }  // what its blocks are told
  std::string spec() const;  // "se(reduction=16)+cbam(reduction=16, kernel=7)" or "none"

  void pretty_print(std::ostream& stream) const override;

 private:
  torch::Tensor run(size_t index, const torch::Tensor& x, const torch::Tensor* shortcut);
  void restore_layer();

  SlotPlace place_;
  std::vector<std::shared_ptr<AttentionBlock>> blocks_;
  torch::nn::Module* host_ = nullptr;  // owns the slot
  std::string layer_name_;
  std::shared_ptr<torch::nn::Module> layer_;
  bool layer_lost_ = false;
};
TORCH_MODULE(Slot);

// Every slot among the modules of a network, in the order of their registration.
std::vector<Slot> slots_of(const torch::nn::Module& network);

}  // namespace gaze
