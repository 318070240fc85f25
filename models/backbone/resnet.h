// ResNet, ResNeXt and Wide ResNet as torchvision builds them. https://arxiv.org/abs/1512.03385,
// https://arxiv.org/abs/1611.05431, https://arxiv.org/abs/1605.07146
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
  int64_t out_channels = 64;
  int64_t stride = 1;
  int64_t groups = 1;            // of a bottleneck's 3x3
  int64_t dilation = 1;          // of a bottleneck's 3x3
  bool bottleneck = false;       // 1x1, 3x3 (strided), 1x1; otherwise 3x3 (strided), 3x3
  bool stride_in_conv1 = false;  // of a bottleneck
  std::vector<StageWidth> earlier;
  int64_t step = 4;  // pixels of the network's input from one cell of x to the next
};

// x [B, in_channels, H, W] -> post(relu(attn(branch(pre(x))) + skip(shortcut(x))))
//                                                            [B, out_channels, H / stride, W / stride]
// with `mid` in the branch after norm and ReLU of the strided or 3x3 convolution (the first of a basic block,
// the second of a bottleneck), and `conv` in place of conv2. Where conv2 strides, so does a mean over 2x2
// cells behind the slot `conv`, as in https://arxiv.org/abs/2101.11605.
class ResidualBlockImpl : public torch::nn::Module {
 public:
  explicit ResidualBlockImpl(const ResidualBlockOptions& options);

  torch::Tensor forward(const torch::Tensor& x);

  const std::string& place() const { return place_; }  // "layer3.5"
  std::vector<Slot> slots() const;                     // in the order the data takes

 private:
  torch::Tensor second_conv(const torch::Tensor& x);

  std::string place_;
  torch::nn::Conv2d conv1_{nullptr}, conv2_{nullptr}, conv3_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr}, bn2_{nullptr}, bn3_{nullptr};
  torch::nn::Sequential downsample_{nullptr};
  Slot pre_{nullptr}, mid_{nullptr}, conv_{nullptr}, skip_{nullptr}, attn_{nullptr}, post_{nullptr};
};
TORCH_MODULE(ResidualBlock);

// State keys are torchvision's ("layer3.5.conv1.weight", "layer3.0.downsample.0.weight", "fc.bias"). Stages:
// layer1 ... layer4, strides 4, 8, 16, 32; a layer that dilates keeps the stride before it. Slots:
// "layerL.I.{pre,mid,conv,skip,attn,post}", "between.1" ... "between.3" behind layer1 ... layer3.
class ResNet : public Backbone {
 public:
  // Throws ArgumentError for a name not in resnet_names(), and for options that need a bottleneck in a
  // network of basic blocks.
  ResNet(const std::string& name, const BackboneOptions& options);

  std::vector<StageFeature> stages(const torch::Tensor& x) override;
  torch::Tensor classify(const torch::Tensor& pooled) override;

  const BackboneOptions& options() const override { return options_; }
  int64_t channels() const override { return channels_; }
  int64_t stride() const override { return stride_; }
  std::string last_stage() const override { return "layer4"; }
  std::string name() const override { return name_; }
  Preprocessing preprocessing() const override { return resnet_preprocessing(); }
  std::vector<Slot> slots() override;
  int64_t cells(int64_t pixels, int64_t step) const override;

 private:
  std::string name_;
  BackboneOptions options_;
  int64_t stride_ = 4;
  int64_t channels_ = 0;
  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::BatchNorm2d bn1_{nullptr};
  std::vector<std::vector<ResidualBlock>> layers_;
  std::vector<Slot> between_;
  torch::nn::Linear fc_{nullptr};  // null with 0 classes
};

const std::vector<std::string>& resnet_names();

}  // namespace gaze::models
