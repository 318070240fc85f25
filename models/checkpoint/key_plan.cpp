#include "models/checkpoint/key_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "models/checkpoint/block_keys.h"
#include "models/checkpoint/file_reader.h"
#include "models/checkpoint/resnet_shape.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using Change = KeyPlan::Change;
using Move = KeyPlan::Move;

bool starts_with(std::string_view name, std::string_view start) {
  return name.substr(0, start.size()) == start;
}

bool ends_with(std::string_view name, std::string_view end) {
  return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

// Why gaze has no network for a tensor of such a name, where that is known.
struct Foreign {
  std::string_view part;
  const char* reason;
};
constexpr std::array<Foreign, 10> kForeign = {{
    {".attn.0.", "blocks by gaze's names, whose specs only a model file holds"},
    {"conv1.0.", "a stem of several convolutions"},
    {"layer0.conv2.", "a stem of several convolutions"},
    {"downsample.2.", "a pooled shortcut"},
    {"bam1.", "BAM between the stages"},
    {".se.bn.", "a norm inside SE"},
    {".se.fc.weight", "effective SE"},
    {".se.mlp.", "ECA with layers of its own, or global context"},
    {".fc.1.", "a head or a gate of other layers"},
    {".ca.", "another attention block"},
}};

std::string reason_for(const std::vector<std::string>& names) {
  for (const Foreign& foreign : kForeign) {
    if (std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return ("." + name).find(std::string(foreign.part)) != std::string::npos;
        }))
      return fmt::format(" ({})", foreign.reason);
  }
  return {};
}

// Counters that the profiler thop leaves in a state dict.
bool is_dropped(std::string_view name) {
  return ends_with(name, "total_ops") || ends_with(name, "total_params");
}

// What stands before `name` in the one tensor whose name ends with it, nothing where there is none.
std::optional<std::string> prefix_before(const TensorSummaries& tensors, const std::string& name) {
  for (const auto& item : tensors) {
    if (!ends_with(item.first, name)) continue;
    const std::string prefix = item.first.substr(0, item.first.size() - name.size());
    if (prefix.empty() || prefix.back() == '.') return prefix;
  }
  return std::nullopt;
}

// The residual block a name is of, and the rest: "layer3.5" and "conv1.weight".
struct InBlock {
  std::string_view block, rest;
};
std::optional<InBlock> in_block(std::string_view name) {
  if (!starts_with(name, "layer")) return std::nullopt;
  const size_t dot = name.find('.');
  const size_t second = dot == std::string_view::npos ? dot : name.find('.', dot + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return InBlock{name.substr(0, second), name.substr(second + 1)};
}

// A tensor of the residual block itself: "conv1.weight", "bn1.bias", "downsample.0.weight".
bool is_host_tensor(std::string_view rest) {
  for (const std::string_view conv : {"conv1.", "conv2.", "conv3.", "downsample.0."}) {
    if (starts_with(rest, conv)) return rest.substr(conv.size()) == "weight";
  }
  for (const std::string_view norm : {"bn1.", "bn2.", "bn3.", "downsample.1."}) {
    if (starts_with(rest, norm)) return is_leaf(rest.substr(norm.size()));
  }
  return false;
}

// "_bn0.weight", "_blocks.3._expand_conv.weight", "_fc.bias"
bool is_lite0_tensor(std::string_view name) {
  if (starts_with(name, "_blocks.")) {
    const size_t dot = name.find('.', 8);
    if (dot == std::string_view::npos) return false;
    const std::string_view rest = name.substr(dot + 1);
    for (const std::string_view norm : {"_bn0.", "_bn1.", "_bn2."}) {
      if (starts_with(rest, norm)) return is_leaf(rest.substr(norm.size()));
    }
    return rest == "_expand_conv.weight" || rest == "_depthwise_conv.weight" ||
           rest == "_project_conv.weight";
  }
  return name == "_conv_stem.weight" || name == "_conv_head.weight" || starts_with(name, "_bn0.") ||
         starts_with(name, "_bn1.") || starts_with(name, "_fc.");
}

// The parts of a ResNet that are in no residual block.
constexpr std::array<BlockKeyRule, 6> kTrunk = {{
    {"", "conv1.weight", "conv1.weight", Change::none},
    {"", "bn1.", "bn1.", Change::none},
    {"", "fc.", "fc.", Change::none},
    {"", "layer0.conv1.weight", "conv1.weight", Change::none},
    {"", "layer0.bn1.", "bn1.", Change::none},
    {"", "last_linear.", "fc.", Change::none},
}};

// "layer1.0.attn.0.fc1.weight" -> the slot "layer1.0.attn" and "fc1.weight"; nothing for other names.
struct InSlot {
  std::string slot, rest;
};
std::optional<InSlot> in_slot(const std::string& name) {
  static const std::string attn = ".attn.0.";
  const size_t at = name.find(attn);
  if (at == std::string::npos) return std::nullopt;
  return InSlot{name.substr(0, at + attn.size() - 3), name.substr(at + attn.size())};
}

// Collects the moves and, by slot, the tensors of its block.
class Planner {
 public:
  explicit Planner(const TensorSummaries& tensors) : tensors_(tensors) {}

  KeyPlan run() {
    if (const auto prefix = prefix_before(tensors_, "layer1.0.conv1.weight")) {
      plan_.prefix = *prefix;
      plan_resnet();
    } else if (looks_like_lite0()) {
      plan_.ecosystem = "efficientnet-lite-pytorch";
      plan_.backbone = "efficientnet_lite0";
      for (const auto& [name, tensor] : tensors_) {
        if (is_lite0_tensor(name)) {
          keep(name, name, Change::none, tensor);
        } else if (is_dropped(name)) {
          plan_.dropped.push_back(name);
        } else {
          unknown_.push_back(shown(name));
        }
      }
    } else {
      std::vector<std::string> names;
      for (const auto& item : tensors_) names.push_back(shown(item.first));
      throw ArgumentError(fmt::format(
          "[key_map] expected tensors of a ResNet or of EfficientNet-Lite0; got {}", some_of(names)));
    }
    name_slots();
    if (!unknown_.empty()) {
      throw ArgumentError(fmt::format("[key_map] expected the tensors of a {}; got also {}{}", plan_.backbone,
                                      some_of(unknown_), reason_for(unknown_)));
    }
    return std::move(plan_);
  }

 private:
  bool looks_like_lite0() const {
    return tensors_.count("_conv_stem.weight") != 0 && tensors_.count("_blocks.15._bn1.weight") != 0 &&
           tensors_.count("_blocks.16._bn1.weight") == 0;
  }

  void keep(const std::string& from, const std::string& to, Change change, const TensorSummary& tensor) {
    std::vector<int64_t> shape = tensor.shape;
    if (change == Change::to_convolution) {
      if (shape.size() != 2) {
        change = Change::none;  // a bias
      } else {
        shape.insert(shape.end(), {1, 1});
      }
    }
    if (change == Change::swap_planes && (shape.size() != 4 || shape[1] != 2)) change = Change::none;
    if (const auto place = in_slot(to)) blocks_[place->slot][place->rest] = shape;
    if ((to == "fc.weight" || to == "_fc.weight") && shape.size() == 2) plan_.options["classes"] = shape[0];
    plan_.moves.push_back({from, to, change});
  }

  void plan_resnet() {
    const ResNetShape shape = resnet_shape(tensors_, plan_.prefix);
    plan_.backbone = shape.name();
    const bool caffe = tensors_.count(plan_.prefix + "layer0.conv1.weight") != 0;
    for (const auto& [name, tensor] : tensors_) {
      if (is_dropped(name)) {
        plan_.dropped.push_back(name);
      } else if (!starts_with(name, plan_.prefix) ||
                 !plan_tensor(name, name.substr(plan_.prefix.size()), tensor)) {
        unknown_.push_back(shown(name));
      }
    }
    check_that(ecosystems_.size() <= 1, "key_map", "names of one ecosystem",
               fmt::format("those of {}", fmt::join(ecosystems_, " and ")));
    if (!ecosystems_.empty()) plan_.ecosystem = *ecosystems_.begin();
    check_that(!caffe || shape.bottleneck, "key_map", "bottlenecks in a network with a layer0",
               "basic blocks, whose branch timm ends with a ReLU before SE");
    if (caffe) {  // as Caffe built them
      plan_.options["ceil_pool"] = true;
      if (shape.groups == 1) plan_.options["stride_in_conv1"] = true;
      if (plan_.ecosystem.empty()) plan_.ecosystem = "Cadene";
    }
    if (plan_.ecosystem.empty()) plan_.ecosystem = "torchvision";
  }

  // False for a name that no part of a ResNet has.
  bool plan_tensor(const std::string& name, const std::string& inner, const TensorSummary& tensor) {
    if (const auto place = in_block(inner)) {
      if (is_host_tensor(place->rest)) {
        keep(name, inner, Change::none, tensor);
        return true;
      }
      if (const BlockKeyRule* rule = block_key_rule(place->rest)) {
        ecosystems_.insert(rule->ecosystem);
        keep(name, fmt::format("{}.{}{}", place->block, rule->to, place->rest.substr(rule->from.size())),
             rule->change, tensor);
        return true;
      }
    }
    for (const BlockKeyRule& rule : kTrunk) {
      if (!fits(rule, inner)) continue;
      keep(name, std::string(rule.to) + inner.substr(rule.from.size()), Change::none, tensor);
      return true;
    }
    return false;
  }

  void name_slots() {
    for (const auto& [slot, tensors] : blocks_) {
      plan_.slots[slot] = block_spec_of(tensors);
      if (plan_.slots[slot].empty()) unknown_.push_back(fmt::format("an incomplete block in {}", slot));
    }
  }

  const TensorSummaries& tensors_;
  KeyPlan plan_;
  std::map<std::string, Shapes> blocks_;  // by slot
  std::set<std::string> ecosystems_;
  std::vector<std::string> unknown_;
};

// The kinds of block and how often: "se in 16 slots".
std::string slots_text(const std::map<std::string, std::string>& slots) {
  std::map<std::string, size_t> counts;
  for (const auto& item : slots) ++counts[item.second.substr(0, item.second.find('('))];
  std::vector<std::string> parts;
  for (const auto& [kind, count] : counts)
    parts.push_back(fmt::format("{} in {} slot{}", kind, count, count == 1 ? "" : "s"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t most = 4;
  const size_t shown_count = std::min(names.size(), most);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown_count), ", "));
  if (shown_count < names.size()) text += fmt::format(" and {} more", names.size() - shown_count);
  return text;
}

std::string KeyPlan::network() const {
  std::string text = fmt::format("{} {}", ecosystem, backbone);
  if (!slots.empty()) text += " with " + slots_text(slots);
  if (!prefix.empty()) text += fmt::format(" under \"{}\"", shown(prefix));
  return text;
}

KeyPlan plan_keys(const TensorSummaries& tensors) {
  return Planner(tensors).run();
}

}  // namespace gaze::models
