// ResNet-18, 34, 50, 101 and 152 as torchvision builds them. https://arxiv.org/abs/1512.03385
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"

namespace gaze::models {

struct ResidualBlockOptions {
  std::string name;  // "layer3.5"
  int64_t in_channels = 64;
  int64_t width = 64;  // of the 3x3 convolutions
  int64_t stride = 1;
  bool bottleneck = false;  // 1x1, 3x3 (strided), 1x1 to 4 * width; otherwise 3x3 (strided), 3x3

  int64_t out_channels() const { return bottleneck ? 4 * width : width; }
};

// x [B, in_channels, H, W] -> relu(attn(branch(x)) + shortcut(x)) [B, out_channels, H / stride, W / stride].
class ResidualBlockImpl : public torch::nn::Module {
 public:
  explicit ResidualBlockImpl(const ResidualBlockOptions& options);

  torch::Tensor forward(const torch::Tensor& x);

  const Slot& attn() const { return attn_; }  // after the last norm, before the add

 private:
  torch::nn::Conv2d conv1_{nullptr}, conv2_{nullptr}, conv3_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr}, bn2_{nullptr}, bn3_{nullptr};
  torch::nn::Sequential downsample_{nullptr};
  Slot attn_{nullptr};
};
TORCH_MODULE(ResidualBlock);

struct ResNetOptions {
  int64_t depth = 50;  // one of resnet_depths()
  int64_t classes = 1000;
};

// State keys are torchvision's ("layer3.5.conv1.weight", "layer3.0.downsample.0.weight", "fc.bias"); the
// stride of a bottleneck is in its 3x3 convolution. Stages: layer1 ... layer4, strides 4, 8, 16, 32. Slots:
// "layerL.I.attn".
class ResNet : public Backbone {
 public:
  explicit ResNet(const ResNetOptions& options);

  std::vector<StageFeature> stages(const torch::Tensor& x) override;
  torch::Tensor classify(const torch::Tensor& pooled) override { return fc_->forward(pooled); }

  int64_t classes() const override { return options_.classes; }
  int64_t channels() const override { return fc_->options.in_features(); }
  int64_t stride() const override { return 32; }
  std::string name() const override;
  Preprocessing preprocessing() const override { return resnet_preprocessing(); }
  std::vector<Slot> slots() override;

 private:
  ResNetOptions options_;
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::vector<std::vector<ResidualBlock>> layers_;
  torch::nn::Linear fc_{nullptr};
};

const std::vector<int64_t>& resnet_depths();

}  // namespace gaze::models
