#include "models/backbone/resnet.h"

#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>

#include <array>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

torch::nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  torch::nn::Conv2d conv(
      torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
  torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
  return conv;
}

std::array<int64_t, 4> blocks_of(int64_t depth) {
  switch (depth) {
    case 18:
      return {2, 2, 2, 2};
    case 34:
    case 50:
      return {3, 4, 6, 3};
    case 101:
      return {3, 4, 23, 3};
    case 152:
      return {3, 8, 36, 3};
    default:
      throw ArgumentError(fmt::format("[resnet] expected depth 18, 34, 50, 101 or 152; got depth {}", depth));
  }
}

}  // namespace

ResidualBlockImpl::ResidualBlockImpl(const ResidualBlockOptions& options) {
  const int64_t in = options.in_channels, width = options.width, out = options.out_channels();
  if (options.bottleneck) {
    conv1_ = register_module("conv1", conv(in, width, 1));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(width));
    conv2_ = register_module("conv2", conv(width, width, 3, options.stride));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(width));
    conv3_ = register_module("conv3", conv(width, out, 1));
    bn3_ = register_module("bn3", torch::nn::BatchNorm2d(out));
  } else {
    conv1_ = register_module("conv1", conv(in, width, 3, options.stride));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(width));
    conv2_ = register_module("conv2", conv(width, width, 3));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(width));
  }
  if (options.stride != 1 || in != out) {
    downsample_ = register_module(
        "downsample", torch::nn::Sequential(conv(in, out, 1, options.stride), torch::nn::BatchNorm2d(out)));
  }
  attn_ = register_module("attn", Slot(options.name + ".attn", out));
}

torch::Tensor ResidualBlockImpl::forward(const torch::Tensor& x) {
  torch::Tensor y = bn1_(conv1_(x)).relu_();
  y = bn2_(conv2_(y));
  if (conv3_) y = bn3_(conv3_(y.relu_()));
  return attn_->forward_to_end(y, downsample_ ? downsample_->forward(x) : x);
}

const std::vector<int64_t>& resnet_depths() {
  static const std::vector<int64_t> depths = {18, 34, 50, 101, 152};
  return depths;
}

ResNet::ResNet(const ResNetOptions& options) : options_(options) {
  const std::array<int64_t, 4> counts = blocks_of(options.depth);
  conv1_ = register_module("conv1", conv(3, 64, 7, 2));
  bn1_ = register_module("bn1", torch::nn::BatchNorm2d(64));
  ResidualBlockOptions block;
  block.bottleneck = options.depth >= 50;
  for (size_t l = 0; l < counts.size(); ++l) {
    const std::string layer_name = fmt::format("layer{}", l + 1);
    torch::nn::ModuleList layer;
    block.width = int64_t{64} << l;
    for (int64_t i = 0; i < counts[l]; ++i) {
      block.name = fmt::format("{}.{}", layer_name, i);
      block.stride = i == 0 && l > 0 ? 2 : 1;
      const ResidualBlock built(block);
      layer->push_back(built);
      if (i == 0) layers_.emplace_back();
      layers_.back().push_back(built);
      block.in_channels = block.out_channels();
    }
    register_module(layer_name, layer);
  }
  fc_ = register_module("fc", torch::nn::Linear(block.in_channels, options.classes));
}

std::vector<StageFeature> ResNet::stages(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", 3}, "H", "W"}, name());
  std::vector<StageFeature> features;
  torch::Tensor y = bn1_(conv1_(x)).relu_();                                 // [B, 64, H/2, W/2]
  y = torch::max_pool2d(y, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);  // [B, 64, H/4, W/4]
  for (size_t l = 0; l < layers_.size(); ++l) {
    for (ResidualBlock& block : layers_[l]) y = block(y);
    features.push_back({fmt::format("layer{}", l + 1), y});  // [B, width, H/2^(l+2), W/2^(l+2)]
  }
  return features;
}

std::string ResNet::name() const {
  return fmt::format("resnet{}", options_.depth);
}

std::vector<Slot> ResNet::slots() {
  std::vector<Slot> slots;
  for (const auto& layer : layers_) {
    for (const ResidualBlock& block : layer) slots.push_back(block->attn());
  }
  return slots;
}

}  // namespace gaze::models
