#include "models/checkpoint/export_keys.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <set>
#include <string_view>

#include "models/checkpoint/timm_attention.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using Change = KeyPlan::Change;
using nlohmann::json;

bool starts_with(std::string_view name, std::string_view start) {
  return name.substr(0, start.size()) == start;
}

bool is_resnet(const std::string& backbone) {
  return starts_with(backbone, "resne") || starts_with(backbone, "wide_resnet");
}

// Those of basic blocks have a ReLU before SE there, which is another network.
const std::vector<std::string>& caffe_born() {
  static const std::vector<std::string> names = {"resnet50", "resnet101", "resnet152", "resnext50_32x4d"};
  return names;
}

// "layer1.0" of every residual block.
std::set<std::string> residual_blocks(const StateDict& weights) {
  static const std::string_view last = ".conv1.weight";
  std::set<std::string> blocks;
  for (const auto& item : weights) {
    const std::string& name = item.first;
    if (starts_with(name, "layer") && name.size() > last.size() &&
        name.compare(name.size() - last.size(), last.size(), last) == 0)
      blocks.insert(name.substr(0, name.size() - last.size()));
  }
  return blocks;
}

std::vector<SlotContent> contents(const NetworkDescription& network, const StateDict& weights) {
  std::map<std::string, SlotContent> slots;
  for (const std::string& block : residual_blocks(weights))
    slots[block + ".attn"] = {block + ".attn", "", 0, {}};
  for (const auto& [slot, spec] : network.slots) slots[slot] = {slot, spec, 0, {}};
  std::vector<SlotContent> result;
  for (auto& [slot, content] : slots) {
    const std::string block = slot.substr(0, slot.rfind('.')), start = slot + ".0.";
    for (const char* norm : {".bn2.weight", ".bn3.weight"}) {  // the last one there is
      const auto found = weights.find(block + norm);
      if (found != weights.end()) content.channels = found->second.numel();
    }
    for (auto item = weights.lower_bound(start); item != weights.end(); ++item) {
      if (!starts_with(item->first, start)) break;
      content.tensors[item->first.substr(start.size())] = item->second.sizes().vec();
    }
    result.push_back(std::move(content));
  }
  return result;
}

// timm's name below a residual block for gaze's below "attn.0.".
KeyPlan::Move timm_move(const std::string& block, const std::string& rest, bool mean_max) {
  const std::string from = block + ".attn.0." + rest;
  if (rest == "spatial.conv.weight")
    return {from, block + ".se.spatial.conv.conv.weight", mean_max ? Change::none : Change::swap_planes};
  if (starts_with(rest, "spatial.bn."))
    return {from, block + ".se.spatial.conv." + rest.substr(8), Change::none};
  return {from, block + ".se." + rest, Change::none};
}

std::string caffe_name(const std::string& name) {
  if (name == "conv1.weight" || starts_with(name, "bn1.")) return "layer0." + name;
  if (starts_with(name, "fc.")) return "last_linear." + name.substr(3);
  return name;
}

// ", num_classes=10" where it is not ImageNet's.
std::string classes_text(const json& options) {
  const int64_t classes = options.value("classes", int64_t{1000});
  return classes == 1000 ? "" : fmt::format(", num_classes={}", classes);
}

std::array<bool, 3> dilate_of(const json& options) {
  return options.value("dilate", std::array<bool, 3>{});
}

struct Target {
  std::string python;
  bool caffe = false;
};

Target torchvision_target(const NetworkDescription& network) {
  std::vector<std::string> filled;
  for (const auto& item : network.slots) filled.push_back(item.first);
  check_that(filled.empty(), "torchvision", "empty slots", "blocks in " + some_of(filled));
  for (const char* option : {"stride_in_conv1", "ceil_pool"}) {
    check_that(!network.options.value(option, false), "torchvision",
               fmt::format("a network without {}", option), "one with it");
  }
  std::string arguments = classes_text(network.options);
  const std::array<bool, 3> dilate = dilate_of(network.options);
  if (dilate != std::array<bool, 3>{}) {
    arguments += ", replace_stride_with_dilation=[";
    for (size_t i = 0; i < dilate.size(); ++i)
      arguments += fmt::format("{}{}", i == 0 ? "" : ", ", dilate[i] ? "True" : "False");
    arguments += "]";
  }
  return {fmt::format("torchvision.models.{}({})", network.backbone,
                      arguments.empty() ? "" : arguments.substr(2)),
          false};
}

Target timm_target(const NetworkDescription& network, const TimmAttention& attention) {
  const bool ceil_pool = network.options.value("ceil_pool", false);
  const bool stride_in_conv1 = network.options.value("stride_in_conv1", false);
  const std::array<bool, 3> dilate = dilate_of(network.options);
  if (ceil_pool || stride_in_conv1) {
    const auto& names = caffe_born();
    const bool named = std::find(names.begin(), names.end(), network.backbone) != names.end();
    const bool wants_stride = network.backbone != "resnext50_32x4d";
    check_that(
        named && ceil_pool && stride_in_conv1 == wants_stride && attention.caffe &&
            dilate == std::array<bool, 3>{},
        "timm",
        "with ceil_pool or stride_in_conv1 a network like its legacy_se*: se(reduction=16) in the slot "
        "attn of every residual block, ceil_pool, stride_in_conv1 in bottlenecks without groups",
        fmt::format("{} {} with {}", network.backbone, network.options.dump(),
                    attention.kind.empty() ? "empty slots" : attention.kind));
    return {
        fmt::format("timm.create_model(\"legacy_se{}\"{})", network.backbone, classes_text(network.options)),
        true};
  }
  std::string arguments = classes_text(network.options);
  check_that(!dilate[0] && (dilate[2] || !dilate[1]), "timm", "dilation of layer4, or of layer3 and layer4",
             json(dilate).dump());
  if (dilate[2]) arguments += fmt::format(", output_stride={}", dilate[1] ? 8 : 16);
  if (!attention.kind.empty())
    arguments += fmt::format(", block_args=dict(attn_layer={})", attention.attn_layer);
  return {fmt::format("timm.create_model(\"{}\"{})", network.backbone, arguments), false};
}

// PyTorch's norms count their batches; files older than that do not hold the counts.
void add_counters(StateDict& weights) {
  static const std::string mean = "running_mean";
  std::vector<std::string> missing;
  for (const auto& item : weights) {
    const std::string& name = item.first;
    if (name.size() < mean.size() || name.compare(name.size() - mean.size(), mean.size(), mean) != 0)
      continue;
    missing.push_back(name.substr(0, name.size() - mean.size()) + "num_batches_tracked");
  }
  for (const std::string& name : missing) weights.emplace(name, at::zeros({}, at::kLong));
}

}  // namespace

ExportedNetwork export_keys(const NetworkDescription& network, const StateDict& weights, Ecosystem to) {
  const char* name = to == Ecosystem::timm ? "timm" : "torchvision";
  check_that(is_resnet(network.backbone), name, "a ResNet, ResNeXt or wide ResNet", network.backbone);
  const Target target = to == Ecosystem::torchvision
                            ? torchvision_target(network)
                            : timm_target(network, timm_attention(contents(network, weights)));
  ExportedNetwork exported;
  exported.python = target.python;
  static const std::string attn = ".attn.0.";
  for (const auto& [key, tensor] : weights) {
    KeyPlan::Move move{key, key, Change::none};
    if (const size_t at = key.find(attn); at != std::string::npos) {
      const std::string block = key.substr(0, at), rest = key.substr(at + attn.size());
      const bool mean_max = network.slots.at(block + ".attn").find("order=mean_max") != std::string::npos;
      move = target.caffe ? KeyPlan::Move{key, block + ".se_module." + rest, Change::none}
                          : timm_move(block, rest, mean_max);
    } else if (target.caffe) {
      move.to = caffe_name(key);
    }
    exported.weights.emplace(move.to, changed(tensor, move.change));
    exported.moves.push_back(std::move(move));
  }
  add_counters(exported.weights);
  return exported;
}

}  // namespace gaze::models
