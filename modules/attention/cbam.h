// Convolutional block attention (Woo et al. 2018): a gate a channel, then a gate a cell.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <memory>
#include <string>

#include "modules/attention/block.h"
#include "modules/attention/slot_place.h"
#include "modules/attention/spec.h"

namespace gaze {

struct CbamOptions {
  int64_t channels = 0;     // C
  int64_t reduction = 16;   // C / R
  int64_t hidden = 0;       // R; 0: C / reduction rounded down, at least 1
  int64_t kernel = 7;       // k of the spatial convolution, odd
  bool bias = true;         // of the channel layers
  bool norm = true;         // batch norm (eps 1e-5, momentum 0.01) after the spatial convolution
  Init init = Init::paper;  // identity adds the state key "mix", one scalar for both gates
};

// u = x · channel gate,  channel gate = sigmoid(layers(mean over H, W) + layers(maximum over H, W))
// y = u · spatial gate,  spatial gate = sigmoid(bn(conv([maximum over C; mean over C] of u)))
// and each gate g becomes 1 + mix · (g - 1) with Init::identity. x [B, C, H, W] with any H, W >= 1.
//
// In training the norm uses the batch's statistics and updates the running ones. A batch of a single cell has
// none: it uses the running statistics and leaves them alone.
//
// State keys: channel.fc1.weight [R, C, 1, 1], channel.fc1.bias [R], channel.fc2.weight [C, R, 1, 1],
// channel.fc2.bias [C], spatial.conv.weight [1, 2, k, k], spatial.bn.{weight, bias, running_mean,
// running_var, num_batches_tracked}; mix [] with Init::identity. The authors' code holds channel.fc1 and fc2
// as ChannelGate.mlp.1 and .3 [R, C] and the rest as SpatialGate.spatial.*; timm's spatial.conv.conv.weight
// has its two planes the other way round.
//
// Init::paper is the authors': all biases and spatial.bn.weight 0, so that the spatial gate starts at 1/2.
// Init::identity starts spatial.bn.weight at 1.
//
// Maps: "channel" [B, C], "spatial" [B, H, W].
class CbamImpl : public AttentionBlock {
 public:
  explicit CbamImpl(const CbamOptions& options);

  torch::Tensor forward(const torch::Tensor& x) override;
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  const CbamOptions& options() const { return options_; }  // hidden filled in

  static std::shared_ptr<AttentionBlock> from_spec(SpecReader& reader, const SlotPlace& place, Init init);

 private:
  torch::Tensor gate_cells(const torch::Tensor& x);

  CbamOptions options_;
  torch::nn::Conv2d fc1_{nullptr}, fc2_{nullptr}, conv_{nullptr};
  torch::nn::BatchNorm2d bn_{nullptr};
  torch::Tensor mix_;
};
TORCH_MODULE(Cbam);

}  // namespace gaze
