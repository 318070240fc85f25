#include "models/backbone/resnet.h"

#include <fmt/format.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>
#include <array>

#include "modules/attention/stage_memory.h"
#include "modules/core/activation_tap.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

struct Family {
  const char* name;
  std::array<int64_t, 4> blocks;
  bool bottleneck;
  int64_t groups = 1;
  int64_t group_width = 64;  // of a bottleneck's 3x3 in layer1
};
constexpr Family kFamilies[] = {
    {"resnet18", {2, 2, 2, 2}, false},
    {"resnet34", {3, 4, 6, 3}, false},
    {"resnet50", {3, 4, 6, 3}, true},
    {"resnet101", {3, 4, 23, 3}, true},
    {"resnet152", {3, 8, 36, 3}, true},
    {"resnext50_32x4d", {3, 4, 6, 3}, true, 32, 4},
    {"resnext101_32x8d", {3, 4, 23, 3}, true, 32, 8},
    {"resnext101_64x4d", {3, 4, 23, 3}, true, 64, 4},
    {"wide_resnet50_2", {3, 4, 6, 3}, true, 1, 128},
    {"wide_resnet101_2", {3, 4, 23, 3}, true, 1, 128},
};

const Family& family_of(const std::string& name) {
  for (const Family& family : kFamilies) {
    if (name == family.name) return family;
  }
  fail_unknown("resnet", "network", name, resnet_names());
}

torch::nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1,
                       int64_t dilation = 1) {
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(in, out, kernel)
                             .stride(stride)
                             .padding(kernel / 2 * dilation)
                             .dilation(dilation)
                             .groups(groups)
                             .bias(false));
  torch::nn::init::kaiming_normal_(conv->weight, 0, torch::kFanOut, torch::kReLU);
  return conv;
}

// Without padding and rounding up a window of a short map is cut to the map, so that one cell stays one.
torch::Tensor stem_pool(const torch::Tensor& x, bool ceil_pool) {
  if (!ceil_pool) return torch::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
  const std::array<int64_t, 2> window = {std::min<int64_t>(3, x.size(2)), std::min<int64_t>(3, x.size(3))};
  return torch::max_pool2d(x, window, /*stride=*/2, /*padding=*/0, /*dilation=*/1, /*ceil_mode=*/true);
}

}  // namespace

ResidualBlockImpl::ResidualBlockImpl(const ResidualBlockOptions& options) : place_(options.name) {
  const int64_t in = options.in_channels, width = options.width, out = options.out_channels;
  const bool first_strides = !options.bottleneck || options.stride_in_conv1;
  const int64_t stride1 = first_strides ? options.stride : 1, stride2 = first_strides ? 1 : options.stride;
  if (options.bottleneck) {
    conv1_ = register_module("conv1", conv(in, width, 1, stride1));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(width));
    conv2_ = register_module("conv2", conv(width, width, 3, stride2, options.groups, options.dilation));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(width));
    conv3_ = register_module("conv3", conv(width, out, 1));
    bn3_ = register_module("bn3", torch::nn::BatchNorm2d(out));
  } else {
    conv1_ = register_module("conv1", conv(in, width, 3, stride1));
    bn1_ = register_module("bn1", torch::nn::BatchNorm2d(width));
    conv2_ = register_module("conv2", conv(width, out, 3));
    bn2_ = register_module("bn2", torch::nn::BatchNorm2d(out));
  }
  if (options.stride != 1 || in != out) {
    downsample_ = register_module(
        "downsample", torch::nn::Sequential(conv(in, out, 1, options.stride), torch::nn::BatchNorm2d(out)));
  }
  const auto slot = [&](const char* leaf, int64_t channels, int64_t step, int64_t stride = 1) {
    return register_module(
        leaf, Slot(SlotPlace{options.name + "." + leaf, channels, stride, options.earlier, step}));
  };
  const int64_t end = options.step * options.stride;
  pre_ = slot("pre", in, options.step);
  conv_ = slot("conv", width, options.step * stride1, stride2);
  mid_ = slot("mid", width, end);
  skip_ = slot("skip", out, end);
  attn_ = slot("attn", out, end);
  post_ = slot("post", out, end);
  conv_->stand_in_for(*this, "conv2");
}

// x [B, width, H, W] -> [B, width, ceil(H / stride), ceil(W / stride)], stride that of conv2.
torch::Tensor ResidualBlockImpl::second_conv(const torch::Tensor& x) {
  if (conv_->empty()) return conv2_(x);
  const torch::Tensor y = conv_(x);  // [B, width, H, W]
  const int64_t stride = conv_->place().stride;
  return stride == 1 ? y : torch::avg_pool2d(y, stride, stride, /*padding=*/0, /*ceil_mode=*/true);
}

torch::Tensor ResidualBlockImpl::forward(const torch::Tensor& x) {
  torch::Tensor y = bn1_(conv1_(pre_(x))).relu_();
  if (conv3_) {
    y = mid_(bn2_(second_conv(y)).relu_());
    y = bn3_(conv3_(y));
  } else {
    y = bn2_(second_conv(mid_(y)));
  }
  const torch::Tensor shortcut = skip_(downsample_ ? downsample_->forward(x) : x);
  return post_(attn_->forward_to_end(y, shortcut));
}

std::vector<Slot> ResidualBlockImpl::slots() const {
  if (conv3_) return {pre_, conv_, mid_, skip_, attn_, post_};
  return {pre_, mid_, conv_, skip_, attn_, post_};
}

const std::vector<std::string>& resnet_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> names;
    for (const Family& family : kFamilies) names.emplace_back(family.name);
    return names;
  }();
  return names;
}

ResNet::ResNet(const std::string& name, const BackboneOptions& options) : name_(name), options_(options) {
  const Family& family = family_of(name);
  const bool dilates = std::find(options.dilate.begin(), options.dilate.end(), true) != options.dilate.end();
  check_that(family.bottleneck || !(dilates || options.stride_in_conv1), "backbone",
             fmt::format("neither dilate nor stride_in_conv1 for {}, which has no bottlenecks", name),
             to_json(options).dump());
  conv1_ = register_module("conv1", conv(3, 64, 7, 2));
  bn1_ = register_module("bn1", torch::nn::BatchNorm2d(64));
  auto between = std::make_shared<torch::nn::Module>("between");
  ResidualBlockOptions block;
  block.bottleneck = family.bottleneck;
  block.stride_in_conv1 = options.stride_in_conv1;
  block.groups = family.groups;
  for (size_t l = 0; l < family.blocks.size(); ++l) {
    const std::string layer_name = fmt::format("layer{}", l + 1);
    const int64_t planes = int64_t{64} << l;
    const int64_t stride = l == 0 ? 1 : 2;
    const bool dilate = l > 0 && options.dilate[l - 1];
    block.width = family.bottleneck ? planes * family.group_width / 64 * family.groups : planes;
    block.out_channels = family.bottleneck ? 4 * planes : planes;
    torch::nn::ModuleList layer;
    layers_.emplace_back();
    for (int64_t i = 0; i < family.blocks[l]; ++i) {
      block.name = fmt::format("{}.{}", layer_name, i);
      block.stride = i == 0 && !dilate ? stride : 1;
      if (i == 1 && dilate) block.dilation *= stride;  // the first block keeps the dilation before it
      block.step = stride_;
      layers_.back().emplace_back(block);
      layer->push_back(layers_.back().back());
      block.in_channels = block.out_channels;
      stride_ *= block.stride;
    }
    register_module(layer_name, layer);
    if (l + 1 < family.blocks.size()) {
      const std::string index = std::to_string(l + 1);
      between_.push_back(between->register_module(
          index, Slot(SlotPlace{"between." + index, block.out_channels, 1, block.earlier, stride_})));
    }
    block.earlier.push_back({layer_name, block.out_channels, stride_});
  }
  register_module("between", between);
  channels_ = block.in_channels;
  if (options.classes > 0) fc_ = register_module("fc", torch::nn::Linear(channels_, options.classes));
}

torch::Tensor ResNet::classify(const torch::Tensor& pooled) {
  check_that(!fc_.is_empty(), name_, "a network with a class head", "one with 0 classes");
  return fc_->forward(pooled);
}

std::vector<StageFeature> ResNet::stages(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", 3}, "H", "W"}, name_);
  StageMemory memory;
  std::vector<StageFeature> features;
  torch::Tensor y = bn1_(conv1_(x)).relu_();                          // [B, 64, H/2, W/2]
  y = ActivationTap::pass("stem", stem_pool(y, options_.ceil_pool));  // [B, 64, H/4, W/4]
  for (size_t l = 0; l < layers_.size(); ++l) {
    for (ResidualBlock& block : layers_[l]) y = ActivationTap::pass(block->place(), block(y));
    if (l < between_.size()) y = between_[l](y);
    const std::string name = fmt::format("layer{}", l + 1);
    y = ActivationTap::pass(name, y);
    features.push_back({name, y});  // [B, out_channels, H/2^(l+2), W/2^(l+2)]
    memory.put(features.back().name, y);
  }
  return features;
}

std::vector<Slot> ResNet::slots() {
  std::vector<Slot> slots;
  for (size_t l = 0; l < layers_.size(); ++l) {
    for (const ResidualBlock& block : layers_[l]) {
      for (const Slot& slot : block->slots()) slots.push_back(slot);
    }
    if (l < between_.size()) slots.push_back(between_[l]);
  }
  return slots;
}

int64_t ResNet::cells(int64_t pixels, int64_t step) const {
  if (!options_.ceil_pool) return Backbone::cells(pixels, step);
  const int64_t stem = (pixels + 1) / 2;
  return Backbone::cells(std::max<int64_t>(stem / 2, 1), step / 4);
}

}  // namespace gaze::models
