#include "modules/attention/slot.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"

namespace gaze {

SlotImpl::SlotImpl(SlotPlace place) : place_(std::move(place)) {}

torch::Tensor SlotImpl::run(size_t index, const torch::Tensor& x, const torch::Tensor* shortcut) {
  std::optional<MapPlace> place;
  if (MapRecorder::current() != nullptr) place.emplace(fmt::format("{}.{}", place_.name, index));
  return shortcut ? blocks_[index]->forward_to_end(x, *shortcut) : blocks_[index]->forward(x);
}

torch::Tensor SlotImpl::forward(const torch::Tensor& x) {
  torch::Tensor y = x;
  for (size_t index = 0; index < blocks_.size(); ++index) y = run(index, y, nullptr);
  return y;
}

torch::Tensor SlotImpl::forward_to_end(torch::Tensor x, const torch::Tensor& shortcut) {
  if (blocks_.empty()) return x.add_(shortcut).relu_();
  for (size_t index = 0; index + 1 < blocks_.size(); ++index) x = run(index, x, nullptr);
  return run(blocks_.size() - 1, x, &shortcut);
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
  stream << fmt::format("gaze::Slot({}, channels={}, {})", place_.name, place_.channels, spec());
}

}  // namespace gaze
