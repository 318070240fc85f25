#include "models/backbone/efficientnet_lite.h"

#include <fmt/format.h>
#include <torch/nn/functional/padding.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/container/modulelist.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "modules/attention/stage_memory.h"
#include "modules/core/activation_tap.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

struct StageOptions {
  int64_t repeats, kernel, stride, expand, channels;
};
constexpr int64_t kStemChannels = 32;
constexpr int64_t kHeadChannels = 1280;
constexpr StageOptions kStages[] = {{1, 3, 1, 1, 16},  {2, 3, 2, 6, 24},  {2, 5, 2, 6, 40}, {3, 3, 2, 6, 80},
                                    {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192}, {1, 3, 1, 6, 320}};

torch::nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(in, out, kernel).stride(stride).groups(groups).bias(false));
  const double fan_out = static_cast<double>(out * kernel * kernel) / static_cast<double>(groups);
  torch::nn::init::normal_(conv->weight, 0, std::sqrt(2 / fan_out));
  return conv;
}

torch::nn::BatchNorm2d norm(int64_t channels) {
  return torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(channels).eps(1e-3).momentum(0.01));
}

// TensorFlow's SAME: ceil(size / stride) outputs, the odd row and column of padding at the bottom and the
// right.
torch::Tensor conv_same(const torch::nn::Conv2d& conv, torch::Tensor x) {
  const int64_t kernel = conv->options.kernel_size()->at(0), stride = conv->options.stride()->at(0);
  const auto padding = [&](int64_t size) {
    const int64_t outputs = (size + stride - 1) / stride;
    return std::max<int64_t>((outputs - 1) * stride + kernel - size, 0);
  };
  const int64_t rows = padding(x.size(2)), cols = padding(x.size(3));
  std::vector<int64_t> both_sides = {rows / 2, cols / 2};
  if (rows % 2 != 0 || cols % 2 != 0) {
    x = torch::constant_pad_nd(x, {cols / 2, cols - cols / 2, rows / 2, rows - rows / 2});
    both_sides = {0, 0};
  }
  return torch::conv2d(x, conv->weight, /*bias=*/{}, conv->options.stride(), both_sides,
                       conv->options.dilation(), conv->options.groups());
}

torch::Tensor activate(torch::Tensor x) {
  return torch::relu6_(x);
}

}  // namespace

InvertedResidualImpl::InvertedResidualImpl(const InvertedResidualOptions& options)
    : place_(options.name),
      has_shortcut_(options.stride == 1 && options.in_channels == options.out_channels) {
  const int64_t width = options.in_channels * options.expand;
  if (options.expand != 1) {
    expand_conv_ = register_module("_expand_conv", conv(options.in_channels, width, 1));
    bn0_ = register_module("_bn0", norm(width));
  }
  depthwise_conv_ =
      register_module("_depthwise_conv", conv(width, width, options.kernel, options.stride, width));
  bn1_ = register_module("_bn1", norm(width));
  project_conv_ = register_module("_project_conv", conv(width, options.out_channels, 1));
  bn2_ = register_module("_bn2", norm(options.out_channels));
  const auto slot = [&](const char* leaf, int64_t channels, int64_t step) {
    return register_module(leaf,
                           Slot(SlotPlace{options.name + "." + leaf, channels, 1, options.earlier, step}));
  };
  const int64_t end = options.step * options.stride;
  mid_ = slot("mid", width, end);
  attn_ = slot("attn", options.out_channels, end);
  if (has_shortcut_) {
    pre_ = slot("pre", options.in_channels, options.step);
    skip_ = slot("skip", options.out_channels, end);
    post_ = slot("post", options.out_channels, end);
  }
}

torch::Tensor InvertedResidualImpl::forward(const torch::Tensor& x) {
  torch::Tensor y = has_shortcut_ ? pre_(x) : x;
  if (expand_conv_) y = activate(bn0_(conv_same(expand_conv_, y)));  // [B, expand * in, H, W]
  y = mid_(activate(bn1_(conv_same(depthwise_conv_, y))));  // [B, expand * in, H / stride, W / stride]
  y = attn_(bn2_(conv_same(project_conv_, y)));             // [B, out, H / stride, W / stride]
  return has_shortcut_ ? post_(torch::add(y, skip_(x))) : y;
}

std::vector<Slot> InvertedResidualImpl::slots() const {
  if (has_shortcut_) return {pre_, mid_, attn_, skip_, post_};
  return {mid_, attn_};
}

EfficientNetLite::EfficientNetLite(const BackboneOptions& options) : options_(options) {
  check_that(to_json(options).size() == 1, "backbone", fmt::format("no options but classes for {}", name()),
             to_json(options).dump());
  conv_stem_ = register_module("_conv_stem", conv(3, kStemChannels, 3, 2));
  bn0_ = register_module("_bn0", norm(kStemChannels));
  torch::nn::ModuleList blocks;
  auto between = std::make_shared<torch::nn::Module>("between");
  InvertedResidualOptions block;
  block.in_channels = kStemChannels;
  for (size_t s = 0; s < std::size(kStages); ++s) {
    for (int64_t i = 0; i < kStages[s].repeats; ++i) {
      block.name = fmt::format("blocks.{}", blocks_.size());
      block.out_channels = kStages[s].channels;
      block.expand = kStages[s].expand;
      block.kernel = kStages[s].kernel;
      block.stride = i == 0 ? kStages[s].stride : 1;
      blocks_.emplace_back(block);
      blocks->push_back(blocks_.back());
      block.in_channels = block.out_channels;
      block.step *= block.stride;
    }
    const bool last_of_stride = s + 1 < std::size(kStages) && kStages[s + 1].stride == 2;
    if (!last_of_stride) continue;
    ends_.push_back(blocks_.size());
    const std::string index = std::to_string(ends_.size());
    between_.push_back(between->register_module(
        index, Slot(SlotPlace{"between." + index, block.out_channels, 1, block.earlier, block.step})));
    block.earlier.push_back({"stage" + index, block.out_channels, block.step});
  }
  register_module("_blocks", blocks);
  register_module("between", between);
  conv_head_ = register_module("_conv_head", conv(block.in_channels, kHeadChannels, 1));
  bn1_ = register_module("_bn1", norm(kHeadChannels));
  fc_ = register_module("_fc", torch::nn::Linear(kHeadChannels, options.classes));
}

std::vector<StageFeature> EfficientNetLite::stages(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", 3}, "H", "W"}, name());
  StageMemory memory;
  std::vector<StageFeature> features;
  torch::Tensor y = x.contiguous(at::MemoryFormat::ChannelsLast);  // depthwise convolutions are faster so
  y = ActivationTap::pass("stem", activate(bn0_(conv_same(conv_stem_, y))));  // [B, 32, H/2, W/2]
  for (size_t b = 0; b < blocks_.size(); ++b) {
    y = ActivationTap::pass(blocks_[b]->place(), blocks_[b](y));
    const size_t stage = features.size();
    if (stage >= ends_.size() || b + 1 != ends_[stage]) continue;
    const std::string name = fmt::format("stage{}", stage + 1);
    y = ActivationTap::pass(name, between_[stage](y));
    features.push_back({name, y});
    memory.put(features.back().name, y);
  }
  y = ActivationTap::pass(last_stage(), activate(bn1_(conv_same(conv_head_, y))));  // [B, 1280, H/32, W/32]
  features.push_back({last_stage(), y});
  return features;
}

std::vector<Slot> EfficientNetLite::slots() {
  std::vector<Slot> slots;
  for (size_t b = 0, stage = 0; b < blocks_.size(); ++b) {
    for (const Slot& slot : blocks_[b]->slots()) slots.push_back(slot);
    if (stage < ends_.size() && b + 1 == ends_[stage]) slots.push_back(between_[stage++]);
  }
  return slots;
}

}  // namespace gaze::models
