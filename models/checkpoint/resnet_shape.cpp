#include "models/checkpoint/resnet_shape.h"

#include <fmt/format.h>

#include <set>

namespace gaze::models {
namespace {

// The numbers that follow `start` in names: 3 for names layer1.0.*, layer1.1.*, layer1.2.*.
size_t count_children(const TensorSummaries& tensors, const std::string& start) {
  std::set<std::string> children;
  for (auto item = tensors.lower_bound(start); item != tensors.end(); ++item) {
    if (item->first.compare(0, start.size(), start) != 0) break;
    const size_t dot = item->first.find('.', start.size());
    if (dot != std::string::npos) children.insert(item->first.substr(start.size(), dot - start.size()));
  }
  return children.size();
}

}  // namespace

size_t ResNetShape::depth() const {
  return (blocks[0] + blocks[1] + blocks[2] + blocks[3]) * (bottleneck ? 3 : 2) + 2;
}

std::string ResNetShape::name() const {
  if (bottleneck && groups > 1) return fmt::format("resnext{}_{}x{}d", depth(), groups, width / groups);
  if (bottleneck && width == 128) return fmt::format("wide_resnet{}_2", depth());
  return fmt::format("resnet{}", depth());
}

ResNetShape resnet_shape(const TensorSummaries& tensors, const std::string& prefix) {
  ResNetShape shape;
  for (size_t l = 0; l < shape.blocks.size(); ++l)
    shape.blocks[l] = count_children(tensors, fmt::format("{}layer{}.", prefix, l + 1));
  shape.bottleneck = tensors.count(prefix + "layer1.0.conv3.weight") != 0;
  const auto inner = tensors.find(prefix + "layer1.0.conv2.weight");
  if (inner != tensors.end() && inner->second.shape.size() == 4 && inner->second.shape[1] > 0) {
    shape.width = inner->second.shape[0];
    shape.groups = shape.width / inner->second.shape[1];
  }
  return shape;
}

}  // namespace gaze::models
