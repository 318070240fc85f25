// A convolutional network: picture -> stage features -> class logits, with named slots for attention.
#pragma once

#include <torch/nn/module.h>

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/image/preprocess.h"
#include "modules/attention/slot.h"

namespace gaze::models {

struct StageFeature {
  std::string name;     // "layer3"
  torch::Tensor value;  // [B, C, H, W]
};

struct BackboneOptions {
  int64_t classes = 1000;  // 0, of the ResNets: no class head
  // Of the ResNets:
  bool stride_in_conv1 = false;     // a bottleneck strides in its first 1x1, as weights born in Caffe have it
  bool ceil_pool = false;           // the stem's pool has no padding and rounds up, as they have it
  std::array<bool, 3> dilate = {};  // layer2, layer3, layer4 dilate their 3x3 instead of striding
};

// {"classes": 1000} and the other options where they are not the default: "stride_in_conv1": true, "dilate":
// [false, false, true]. from_json throws ArgumentError for another key and for a value of the wrong kind.
nlohmann::json to_json(const BackboneOptions& options);
BackboneOptions backbone_options_from_json(const nlohmann::json& json);

class Backbone : public torch::nn::Module {
 public:
  // x [B, 3, H, W] normalised RGB -> the stages' outputs in order, the last one ready for the head. On the
  // way an ActivationTap sees "stem", each block ("layer1.0") and each stage ("layer1").
  // Throws ArgumentError for another shape of x.
  virtual std::vector<StageFeature> stages(const torch::Tensor& x) = 0;

  // The class head, linear, on any tensor whose last axis is the last stage's channels: [..., C] -> [..., K].
  // Throws ArgumentError where there is none.
  virtual torch::Tensor classify(const torch::Tensor& pooled) = 0;

  // x [B, 3, H, W] -> logits [B, K]: last stage, mean over cells, class head. In training the original's
  // dropout acts before the head.
  torch::Tensor forward(const torch::Tensor& x);

  // Class evidence: the class head applied to each cell of the last stage. x [B, 3, H, W] -> [B, K, h, w].
  // Its mean over cells is forward(x) in evaluation, since the head is linear.
  torch::Tensor class_evidence(const torch::Tensor& x);

  virtual const BackboneOptions& options() const = 0;
  virtual int64_t channels() const = 0;        // of the last stage
  virtual int64_t stride() const = 0;          // of the last stage
  virtual std::string last_stage() const = 0;  // "layer4"
  virtual std::string name() const = 0;        // "resnet50", "efficientnet_lite0"
  virtual Preprocessing preprocessing() const = 0;
  int64_t classes() const { return options().classes; }

  // Every slot in the order the data takes: "layer1.0.pre" ... "layer4.2.post". An output of stage L means
  // what the next stage gets: behind the slot between.L.
  virtual std::vector<Slot> slots() = 0;

  // Cells along an axis of an input of that many pixels, where two cells are `step` pixels apart.
  virtual int64_t cells(int64_t pixels, int64_t step) const { return (pixels + step - 1) / step; }

 protected:
  virtual double dropout() const { return 0; }  // before the head, in training
};

// "resnet18|34|50|101|152", "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2",
// "wide_resnet101_2" (torchvision's state keys), "efficientnet_lite0" (the original's). Random weights.
// Throws ArgumentError with the known names, and for options that the network does not have.
std::shared_ptr<Backbone> make_backbone(const std::string& name, const BackboneOptions& options);
std::shared_ptr<Backbone> make_backbone(const std::string& name, int64_t classes = 1000);
std::vector<std::string> backbone_names();

// ImageNet's 1000 class names, in the order of the heads.
const std::vector<std::string>& imagenet_labels();

}  // namespace gaze::models
