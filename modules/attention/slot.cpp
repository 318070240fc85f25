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
  std::vector<std::shared_ptr<AttentionBlock>> blocks = blocks_;
  blocks.push_back(std::move(block));
  set(std::move(blocks));
}

void SlotImpl::set(std::vector<std::shared_ptr<AttentionBlock>> blocks) {
  for (const std::shared_ptr<AttentionBlock>& block : blocks)
    check_that(block != nullptr, "slot", "a block", "none");
  check_that(!blocks.empty() || !layer_lost_, "slot",
             fmt::format("a block in {}, since the weights of {} are lost", place_.name, layer_name_),
             "none");
  if (host_ != nullptr && blocks.empty() != blocks_.empty()) {
    if (blocks.empty()) {
      restore_layer();
    } else {
      host_->unregister_module(layer_name_);
    }
  }
  for (size_t index = 0; index < blocks_.size(); ++index) unregister_module(std::to_string(index));
  blocks_.clear();
  for (std::shared_ptr<AttentionBlock>& block : blocks) {
    if (block->is_training() != is_training()) block->train(is_training());
    register_module(std::to_string(blocks_.size()), block);
    blocks_.push_back(std::move(block));
  }
}

// The layer missed what happened to its host in the meantime.
void SlotImpl::restore_layer() {
  const std::vector<torch::Tensor> likes = host_->parameters();
  if (!likes.empty()) layer_->to(likes.front().device(), likes.front().scalar_type());
  layer_->train(is_training());
  host_->register_module(layer_name_, layer_);
}

void SlotImpl::stand_in_for(torch::nn::Module& host, const std::string& child) {
  check_that(blocks_.empty(), "slot", "an empty slot to stand in for a layer", spec());
  host_ = &host;
  layer_name_ = child;
  layer_ = host.named_children()[child];
}

void SlotImpl::lose_layer() {
  layer_lost_ = host_ != nullptr && !blocks_.empty();
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

std::vector<Slot> slots_of(const torch::nn::Module& network) {
  std::vector<Slot> slots;
  for (const std::shared_ptr<torch::nn::Module>& module : network.modules(/*include_self=*/false)) {
    if (const auto slot = std::dynamic_pointer_cast<SlotImpl>(module)) slots.emplace_back(slot);
  }
  return slots;
}

}  // namespace gaze
