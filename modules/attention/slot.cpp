#include "modules/attention/slot.h"

#include <fmt/format.h>

#include <utility>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"

namespace gaze {

SlotImpl::SlotImpl(std::string name, int64_t channels) : name_(std::move(name)), channels_(channels) {}

torch::Tensor SlotImpl::forward(const torch::Tensor& x) {
  if (blocks_.empty()) return x;
  const bool recording = MapRecorder::current() != nullptr;
  torch::Tensor y = x;
  for (size_t index = 0; index < blocks_.size(); ++index) {
    if (recording) {
      const MapPlace place(fmt::format("{}.{}", name_, index));
      y = blocks_[index]->forward(y);
    } else {
      y = blocks_[index]->forward(y);
    }
  }
  return y;
}

void SlotImpl::add(std::shared_ptr<AttentionBlock> block) {
  check_that(block != nullptr, "slot", "a block", "none");
  block->train(is_training());
  register_module(std::to_string(blocks_.size()), block);
  blocks_.push_back(std::move(block));
}

void SlotImpl::clear() {
  for (size_t index = 0; index < blocks_.size(); ++index) unregister_module(std::to_string(index));
  blocks_.clear();
}

std::string SlotImpl::spec() const {
  if (blocks_.empty()) return "none";
  std::string text;
  for (const std::shared_ptr<AttentionBlock>& block : blocks_)
    text += (text.empty() ? "" : "+") + block->spec();
  return text;
}

void SlotImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::Slot({}, channels={}, {})", name_, channels_, spec());
}

}  // namespace gaze
