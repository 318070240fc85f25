// A convolutional network: picture -> stage features -> class logits, with named slots for attention.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
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
  virtual std::vector<StageFeature> stages(const torch::Tensor& x) = 0;

  // The class head on any tensor whose channels are the last stage's: [B, C] -> [B, K].
  virtual torch::Tensor classify(const torch::Tensor& pooled) = 0;

  // x [B, 3, H, W] -> logits [B, K]: last stage, mean over cells, class head. `dropout` of the original acts in training.
  torch::Tensor forward(const torch::Tensor& x);

  // Class evidence: the class head applied to each cell of the last stage. x [B, 3, H, W] -> [B, K, h, w]. Its mean over cells is
  // forward(x), since the head is linear.
  torch::Tensor class_evidence(const torch::Tensor& x);

  virtual int64_t classes() const = 0;
  virtual int64_t stride() const = 0;  // of the last stage
  virtual std::string name() const = 0;  // "resnet50", "efficientnet_lite0"
  virtual Preprocessing preprocessing() const = 0;

  // Every slot in the order the data takes: "layer1.0.attn" ... Pointers live as long as the network.
  virtual std::vector<Slot> slots() = 0;

  // Puts the blocks of `spec` into every slot whose name matches the glob `pattern` (*, ?, [..]); returns their names.
  // Throws ArgumentError naming near misses when nothing matches.
  std::vector<std::string> fill(const std::string& pattern, const std::string& spec, Init init);
};

// "resnet18|34|50|101|152" (torchvision's state keys), "efficientnet_lite0" (the original's). Random weights.
// Throws ArgumentError with the known names.
std::shared_ptr<Backbone> make_backbone(const std::string& name, int64_t classes = 1000);
std::vector<std::string> backbone_names();

// ImageNet's 1000 class names, in the order of the heads.
const std::vector<std::string>& imagenet_labels();

}  // namespace gaze::models
