// Squeeze-and-excitation (Hu et al. 2018): a gate a channel from the mean of its map.
#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <memory>
#include <string>

#include "modules/attention/block.h"
#include "modules/attention/slot_place.h"
#include "modules/attention/spec.h"

namespace gaze {

struct SeOptions {
  int64_t channels = 0;     // C
  int64_t reduction = 16;   // C / R
  int64_t hidden = 0;       // R; 0: C / reduction rounded down, at least 1
  bool bias = true;         // of both layers
  Init init = Init::paper;  // identity adds the state key "mix"
};

// y = x · gate, gate = sigmoid(fc2 · relu(fc1 · mean of x over H, W)), or 1 + mix · (that - 1) with
// Init::identity. x [B, C, H, W] with any H, W >= 1.
//
// State keys: fc1.weight [R, C, 1, 1], fc1.bias [R], fc2.weight [C, R, 1, 1], fc2.bias [C]: 1x1 convolutions
// as timm and torchvision write them (linear ports hold [R, C]: reshape); mix [] with Init::identity.
//
// Maps: "channel" [B, C].
class SeImpl : public AttentionBlock {
 public:
  explicit SeImpl(const SeOptions& options);

  torch::Tensor forward(const torch::Tensor& x) override;
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void pretty_print(std::ostream& stream) const override;

  const SeOptions& options() const { return options_; }  // hidden filled in

  static std::shared_ptr<AttentionBlock> from_spec(SpecReader& reader, const SlotPlace& place, Init init);

 private:
  SeOptions options_;
  torch::nn::Conv2d fc1_{nullptr}, fc2_{nullptr};
  torch::Tensor mix_;
};
TORCH_MODULE(Se);

}  // namespace gaze
