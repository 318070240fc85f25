// Which member of the ResNet family has tensors of such names and shapes.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "models/checkpoint/summary.h"

namespace gaze::models {

struct ResNetShape {
  std::array<size_t, 4> blocks{};  // of layer1 ... layer4
  bool bottleneck = false;
  int64_t width = 0,
          groups = 0;  // of layer1's 3x3 convolution in a bottleneck: output channels; in / out of it

  size_t depth() const;
  // "resnet50", "resnext50_32x4d", "wide_resnet50_2", "resnet26": named as torchvision and timm name them.
  std::string name() const;
};

// Reads "PREFIXlayer1.0.conv1.weight" and those beside it.
ResNetShape resnet_shape(const TensorSummaries& tensors, const std::string& prefix = {});

}  // namespace gaze::models
