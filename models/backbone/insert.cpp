#include "models/backbone/insert.h"

#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/backbone/backbone.h"
#include "models/backbone/name_pattern.h"
#include "modules/attention/registry.h"
#include "modules/attention/stage_memory.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using Blocks = std::vector<std::shared_ptr<AttentionBlock>>;

// What will be done to a slot.
struct Change {
  Slot slot{nullptr};
  Blocks blocks;  // that it will hold
};

// A network as seen by an insertion.
class Host {
 public:
  Host(torch::nn::Module& network, const InsertOptions& options)
      : backbone_(dynamic_cast<Backbone*>(&network)) {
    slots_ = backbone_ != nullptr ? backbone_->slots() : slots_of(network);
    name_ = backbone_ != nullptr ? backbone_->name() : "the network";
    const Preprocessing own = backbone_ != nullptr ? backbone_->preprocessing() : Preprocessing{0, 0};
    height_ = options.height != 0 ? options.height : own.height;
    width_ = options.width != 0 ? options.width : own.width;
    check_that(height_ >= 0 && width_ >= 0, "insert", "an input of height and width >= 0",
               fmt::format("{} x {}", height_, width_));
    for (const torch::Tensor& parameter : network.parameters()) {
      if (!parameter.is_floating_point()) continue;
      like_ = parameter;
      break;
    }
  }

  const std::vector<Slot>& slots() const { return slots_; }
  const std::string& name() const { return name_; }
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  int64_t cells(int64_t pixels, int64_t step) const {
    if (step == 0 || pixels == 0) return 0;
    return backbone_ != nullptr ? backbone_->cells(pixels, step) : (pixels + step - 1) / step;
  }

  void settle(AttentionBlock& block) const {
    if (like_.defined()) block.to(like_.device(), like_.scalar_type());
  }

 private:
  Backbone* backbone_;
  std::vector<Slot> slots_;
  std::string name_;
  int64_t height_ = 0, width_ = 0;
  torch::Tensor like_;
};

// Numbers in [-1, 1] that draw from no generator.
torch::Tensor probe(int64_t channels, const torch::Tensor& like) {
  const std::array<int64_t, 4> shape = {1, channels, 3, 2};
  return torch::arange(channels * 6).sin().view(shape).to(like.device(), like.scalar_type());
}

// Whether the block returns what it gets, bit for bit.
bool is_identity(AttentionBlock& block, const SlotPlace& place) {
  const std::vector<torch::Tensor> parameters = block.parameters();
  const torch::Tensor like = parameters.empty() ? torch::zeros({}) : parameters.front();
  const torch::NoGradGuard no_grad;
  StageMemory memory;
  for (const StageWidth& stage : place.earlier) memory.put(stage.name, probe(stage.channels, like));
  const bool training = block.is_training();
  block.eval();
  const torch::Tensor x = probe(place.channels, like);
  const bool same = torch::equal(block.forward(x), x);
  block.train(training);
  return same;
}

std::vector<LayerWeight> layer_weights(const Slot& slot) {
  std::vector<LayerWeight> weights;
  const std::string& name = slot->full_name();
  const std::string prefix = name.substr(0, name.rfind('.') + 1) + slot->layer_name() + ".";
  for (const auto& item : slot->layer()->named_parameters())
    weights.push_back({prefix + item.key(), item.value().sizes().vec()});
  for (const auto& item : slot->layer()->named_buffers())
    weights.push_back({prefix + item.key(), item.value().sizes().vec()});
  return weights;
}

void tell_removed(InsertReport& report, const Slot& slot) {
  for (const auto& block : slot->blocks())
    report.removed.push_back({slot->full_name(), block->spec(), block->parameter_count()});
}

void tell_layer(InsertReport& report, const Change& change) {
  const Slot& slot = change.slot;
  if (slot->layer() == nullptr || slot->empty() == change.blocks.empty()) return;
  std::vector<LayerWeight>& told = slot->empty() ? report.weights_gone : report.weights_back;
  for (LayerWeight& weight : layer_weights(slot)) told.push_back(std::move(weight));
}

InsertedBlock describe(const Host& host, const Slot& slot, size_t index, AttentionBlock& block) {
  InsertedBlock told;
  told.slot = slot->full_name();
  told.index = static_cast<int64_t>(index);
  told.spec = block.spec();
  told.channels = slot->channels();
  told.rows = host.cells(host.height(), slot->place().step);
  told.cols = host.cells(host.width(), slot->place().step);
  told.parameters = block.parameter_count();
  if (told.rows > 0 && told.cols > 0) told.macs = block.macs(told.rows, told.cols);
  told.identity = slot->layer() == nullptr && is_identity(block, slot->place());
  return told;
}

std::vector<Slot> matching(const NameList& list, const std::vector<Slot>& slots, const std::string& pattern) {
  std::vector<Slot> found;
  for (const size_t i : match_names(list, pattern)) found.push_back(slots[i]);
  return found;
}

void check_layer(const Slot& slot, const std::string& op) {
  check_that(!slot->layer_lost(), op, "a slot whose layer has weights to go back to",
             fmt::format("{}, which was loaded without {}", slot->full_name(), slot->layer_name()));
}

void apply(std::vector<Change>& changes, const InsertOptions& options) {
  if (options.dry_run) return;
  for (Change& change : changes) change.slot->set(std::move(change.blocks));
}

}  // namespace

InsertReport insert(torch::nn::Module& network, const std::string& pattern, const std::string& spec,
                    const InsertOptions& options) {
  const Host host(network, options);
  const std::vector<BlockSpec> specs = parse_block_specs(spec);
  NameList list{"insert", "slot of " + host.name(), {}, {}};
  for (const Slot& slot : host.slots()) {
    list.names.push_back(slot->full_name());
    if (slot->layer() != nullptr)
      list.spelled_out.push_back(slot->full_name().substr(slot->full_name().rfind('.') + 1));
  }
  InsertReport report;
  report.height = host.height();
  report.width = host.width();
  std::vector<Change> changes;
  for (const Slot& slot : matching(list, host.slots(), pattern)) {
    Change change{slot, options.replace ? Blocks() : slot->blocks()};
    for (const BlockSpec& one : specs) {
      const std::shared_ptr<AttentionBlock> block = make_block(one, slot->place(), options.init);
      host.settle(*block);
      report.inserted.push_back(describe(host, slot, change.blocks.size(), *block));
      change.blocks.push_back(block);
    }
    if (options.replace) tell_removed(report, slot);
    if (change.blocks.empty()) check_layer(slot, list.op);
    tell_layer(report, change);
    changes.push_back(std::move(change));
  }
  apply(changes, options);
  return report;
}

InsertReport remove(torch::nn::Module& network, const std::string& pattern, const InsertOptions& options) {
  const Host host(network, options);
  NameList list{"remove", "filled slot of " + host.name(), {}, {}};
  std::vector<Slot> filled;
  for (const Slot& slot : host.slots()) {
    if (slot->empty()) continue;
    filled.push_back(slot);
    list.names.push_back(slot->full_name());
  }
  InsertReport report;
  report.height = host.height();
  report.width = host.width();
  std::vector<Change> changes;
  for (const Slot& slot : matching(list, filled, pattern)) {
    check_layer(slot, list.op);
    tell_removed(report, slot);
    changes.push_back({slot, {}});
    tell_layer(report, changes.back());
  }
  apply(changes, options);
  return report;
}

}  // namespace gaze::models
