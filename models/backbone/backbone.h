// A convolutional network: picture -> stage features -> class logits, with named slots for attention.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/image/preprocess.h"
#include "modules/attention/slot.h"

namespace gaze::models {

struct StageFeature {
  std::string name;     // "layer3"
  torch::Tensor value;  // [B, C, H, W]
};

class Backbone : public torch::nn::Module {
 public:
  // x [B, 3, H, W] normalised RGB -> the stages' outputs in order, the last one ready for the head.
  // Throws ArgumentError for another shape of x.
  virtual std::vector<StageFeature> stages(const torch::Tensor& x) = 0;

  // The class head, linear, on any tensor whose last axis is the last stage's channels: [..., C] -> [..., K].
  virtual torch::Tensor classify(const torch::Tensor& pooled) = 0;

  // x [B, 3, H, W] -> logits [B, K]: last stage, mean over cells, class head. In training the original's
  // dropout acts before the head.
  torch::Tensor forward(const torch::Tensor& x);

  // Class evidence: the class head applied to each cell of the last stage. x [B, 3, H, W] -> [B, K, h, w].
  // Its mean over cells is forward(x) in evaluation, since the head is linear.
  torch::Tensor class_evidence(const torch::Tensor& x);

  virtual int64_t classes() const = 0;
  virtual int64_t channels() const = 0;  // of the last stage
  virtual int64_t stride() const = 0;    // of the last stage
  virtual std::string name() const = 0;  // "resnet50", "efficientnet_lite0"
  virtual Preprocessing preprocessing() const = 0;

  // Every slot in the order the data takes: "layer1.0.attn" ...
  virtual std::vector<Slot> slots() = 0;

  // Adds the blocks of `spec` to every slot whose name matches the glob `pattern` (*, ?, [..]), behind those
  // it has, with the network's dtype, device and training mode; returns the slots' names. Throws
  // ArgumentError naming near misses when nothing matches; then, and for a bad spec, nothing is changed.
  std::vector<std::string> fill(const std::string& pattern, const std::string& spec, Init init);

 protected:
  virtual double dropout() const { return 0; }  // before the head, in training
};

// "resnet18|34|50|101|152" (torchvision's state keys), "efficientnet_lite0" (the original's). Random weights.
// Throws ArgumentError with the known names.
std::shared_ptr<Backbone> make_backbone(const std::string& name, int64_t classes = 1000);
std::vector<std::string> backbone_names();

// ImageNet's 1000 class names, in the order of the heads.
const std::vector<std::string>& imagenet_labels();

}  // namespace gaze::models
