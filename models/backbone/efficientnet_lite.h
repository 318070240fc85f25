// EfficientNet-Lite0: MobileNet's inverted residuals with ReLU6 and no squeeze-and-excitation.
// https://github.com/tensorflow/tpu/tree/master/models/official/efficientnet/lite
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"

namespace gaze::models {

struct InvertedResidualOptions {
  std::string name;  // "blocks.3"
  int64_t in_channels = 32;
  int64_t out_channels = 16;
  int64_t expand =
      6;  // width of the depthwise convolution, in multiples of in_channels; 1 leaves the first 1x1 out
  int64_t kernel = 3;
  int64_t stride = 1;
  std::vector<StageWidth> earlier;
  int64_t step = 2;  // pixels of the network's input from one cell of x to the next
};

// x [B, in_channels, H, W] -> [B, out_channels, ceil(H / stride), ceil(W / stride)]:
// 1x1 to expand * in_channels, depthwise, mid, 1x1 to out_channels, attn; where the shapes agree that is the
// branch of post(attn(branch(pre(x))) + skip(x)).
class InvertedResidualImpl : public torch::nn::Module {
 public:
  explicit InvertedResidualImpl(const InvertedResidualOptions& options);

  torch::Tensor forward(const torch::Tensor& x);

  const std::string& place() const { return place_; }  // "blocks.3"
  std::vector<Slot> slots() const;                     // in the order the data takes

 private:
  std::string place_;
  bool has_shortcut_;
  torch::nn::Conv2d expand_conv_{nullptr}, depthwise_conv_{nullptr}, project_conv_{nullptr};
  torch::nn::BatchNorm2d bn0_{nullptr}, bn1_{nullptr}, bn2_{nullptr};
  Slot pre_{nullptr}, mid_{nullptr}, attn_{nullptr}, skip_{nullptr}, post_{nullptr};
};
TORCH_MODULE(InvertedResidual);

// State keys are those of the PyPI package efficientnet-lite-pytorch ("_blocks.3._expand_conv.weight"); a
// block in a slot adds "_blocks.3.attn.0.*". Convolutions are padded like TensorFlow's SAME for the input at
// hand, which is what the package does when it is built for that input size. Dropout 0.2 before the head in
// training; no drop-connect. Stages: stage1 ... stage4, the last features at strides 2, 4, 8, 16, and stage5,
// the head convolution's output at stride 32 with 1280 channels. Slots: "blocks.I.{mid,attn}", for blocks
// with a shortcut also "blocks.I.{pre,skip,post}", "between.1" ... "between.4" behind stage1 ... stage4.
class EfficientNetLite : public Backbone {
 public:
  // Throws ArgumentError for options other than classes.
  explicit EfficientNetLite(const BackboneOptions& options);

  std::vector<StageFeature> stages(const torch::Tensor& x) override;
  torch::Tensor classify(const torch::Tensor& pooled) override { return fc_->forward(pooled); }

  const BackboneOptions& options() const override { return options_; }
  int64_t channels() const override { return fc_->options.in_features(); }
  int64_t stride() const override { return 32; }
  std::string last_stage() const override { return "stage5"; }
  std::string name() const override { return "efficientnet_lite0"; }
  Preprocessing preprocessing() const override { return efficientnet_lite_preprocessing(); }
  std::vector<Slot> slots() override;

 protected:
  double dropout() const override { return 0.2; }

 private:
  BackboneOptions options_;
  torch::nn::Conv2d conv_stem_{nullptr}, conv_head_{nullptr};
  torch::nn::BatchNorm2d bn0_{nullptr}, bn1_{nullptr};
  std::vector<InvertedResidual> blocks_;
  std::vector<size_t> ends_;   // of stage1 ... stage4: the block behind the last one
  std::vector<Slot> between_;  // behind them
  torch::nn::Linear fc_{nullptr};
};

}  // namespace gaze::models
