#include "models/checkpoint/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "models/checkpoint/checkpoint.h"
#include "models/checkpoint/dtypes.h"
#include "models/checkpoint/key_plan.h"
#include "models/checkpoint/model_file.h"
#include "models/checkpoint/resnet_shape.h"
#include "models/checkpoint/safetensors_header.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

bool ends_with(std::string_view name, std::string_view end) {
  return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

bool is_statistic(std::string_view name) {
  return ends_with(name, "running_mean") || ends_with(name, "running_var") ||
         ends_with(name, "num_batches_tracked");
}

bool any_contains(const TensorSummaries& tensors, std::string_view part) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const auto& item) { return item.first.find(part) != std::string::npos; });
}

// ResNets and their kin that key_plan.h does not know; torchvision and timm name them alike.
std::string resnet_name(const TensorSummaries& tensors, const std::string& prefix) {
  const std::string name = resnet_shape(tensors, prefix).name();
  if (any_contains(tensors, "layer1.0.se.")) return "timm se" + name;
  if (any_contains(tensors, ".attn.")) return name + " with attention blocks";
  return "torchvision " + name;
}

struct Marker {
  const char* part;  // of some name
  const char* kind;
};

// The first that is found holds: the narrow ones come first.
constexpr std::array<Marker, 19> kMarkers = {{
    {"conv_stem.weight", "timm EfficientNet or MobileNet"},
    {"blocks.0.attn.qkv.weight", "timm vision transformer"},
    {"layers.0.blocks.0.attn.relative_position_bias_table", "timm Swin transformer"},
    {"stages.0.blocks.0.conv_dw.weight", "timm ConvNeXt"},
    {"encoder.layers.encoder_layer_0.", "torchvision vision transformer"},
    {"attn.relative_position_bias_table", "torchvision Swin transformer"},
    {"features.1.0.layer_scale", "torchvision ConvNeXt"},
    {"features.denseblock1.", "torchvision DenseNet"},
    {"Conv2d_1a_3x3.conv.weight", "torchvision Inception v3"},
    {"inception3a.branch1.", "torchvision GoogLeNet"},
    {"features.3.squeeze.weight", "torchvision SqueezeNet"},
    {"stage2.0.branch1.0.weight", "torchvision ShuffleNet v2"},
    {"features.1.0.block.0.0.weight", "torchvision EfficientNet"},
    {"features.1.block.0.0.weight", "torchvision MobileNet v3"},
    {"features.1.conv.0.0.weight", "torchvision MobileNet v2"},
    {"trunk_output.block1.", "torchvision RegNet"},
    {"text_projection", "CLIP"},
    {"attention.self.query.weight", "Hugging Face transformer"},
    {"classifier.6.weight", "torchvision VGG or AlexNet"},
}};

// https://pypi.org/project/efficientnet-lite-pytorch; the names are those of efficientnet_pytorch, without
// squeeze and excitation.
std::string efficientnet_name(const TensorSummaries& tensors) {
  if (any_contains(tensors, "._se_reduce.")) return "efficientnet_pytorch EfficientNet";
  size_t blocks = 0;
  while (tensors.count(fmt::format("_blocks.{}._bn1.weight", blocks)) != 0) ++blocks;
  const auto head = tensors.find("_conv_head.weight");
  const int64_t width = head != tensors.end() && head->second.shape.size() == 4 ? head->second.shape[1] : 0;
  if (blocks == 16) return "EfficientNet-Lite0";
  if (blocks == 21) return width == 352 ? "EfficientNet-Lite2" : "EfficientNet-Lite1";
  if (blocks == 24) return "EfficientNet-Lite3";
  if (blocks == 30) return "EfficientNet-Lite4";
  return "EfficientNet-Lite";
}

void add(CheckpointSummary& summary, const std::string& name, at::ScalarType dtype,
         const std::vector<int64_t>& shape) {
  summary.tensors[name] = {dtype, shape};
  ++summary.dtypes[std::string(dtype_text(dtype))];
  if (is_statistic(name)) return;
  int64_t numbers = 1;
  for (const int64_t size : shape) numbers *= size;
  summary.parameters += numbers;
}

}  // namespace

std::string looks_like(const TensorSummaries& tensors) {
  try {
    return plan_keys(tensors).network();
  } catch (const ArgumentError&) {  // of no network gaze has: others are told by less
  }
  static const std::string resnet = "layer1.0.conv1.weight";
  for (const auto& item : tensors) {
    if (!ends_with(item.first, resnet)) continue;
    const std::string prefix = item.first.substr(0, item.first.size() - resnet.size());
    if (tensors.count(prefix + "conv1.weight") == 0) continue;
    const std::string name = resnet_name(tensors, prefix);
    return prefix.empty() ? name : fmt::format("{} under \"{}\"", name, shown(prefix));
  }
  if (tensors.count("_conv_stem.weight") != 0) return efficientnet_name(tensors);
  for (const Marker& marker : kMarkers) {
    if (any_contains(tensors, marker.part)) return marker.kind;
  }
  return {};
}

int64_t class_count(const TensorSummaries& tensors) {
  for (const char* name :
       {"fc.weight", "_fc.weight", "head.weight", "head.fc.weight", "heads.head.weight", "classifier.weight",
        "classifier.1.weight", "classifier.2.weight", "classifier.3.weight", "classifier.6.weight"}) {
    const auto found = tensors.find(name);
    if (found != tensors.end() && found->second.shape.size() >= 2) return found->second.shape[0];
  }
  return 0;
}

CheckpointSummary summarize_checkpoint(const std::filesystem::path& path) {
  const FileReader file(path);
  CheckpointSummary summary;
  summary.format = checkpoint_format(file);
  summary.file_bytes = file.size();
  if (summary.format == CheckpointFormat::safetensors) {
    SafetensorsHeader header = read_safetensors_header(file);
    for (const auto& [name, entry] : header.tensors) add(summary, name, entry.dtype, entry.shape);
    summary.description = model_description(path, header.metadata);
    summary.metadata = std::move(header.metadata);
  } else {
    for (const auto& [name, tensor] : read_state_dict(path))
      add(summary, name, tensor.scalar_type(), tensor.sizes().vec());
  }
  summary.looks_like = looks_like(summary.tensors);
  summary.classes = class_count(summary.tensors);
  return summary;
}

}  // namespace gaze::models
