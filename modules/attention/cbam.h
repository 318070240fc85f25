// Convolutional block attention (Woo et al. 2018): a gate a channel, then a gate a cell.
#pragma once

#include <cstdint>
#include <string>

#include "modules/attention/block.h"
#include "modules/attention/channel_layers.h"
#include "modules/attention/spatial_layers.h"

namespace gaze {

struct CbamOptions : ChannelLayersOptions, SpatialLayersOptions {
  Init init = Init::paper;  // identity adds the state key "mix", one scalar for both gates
};

// u = x · channel gate,  channel gate = sigmoid(layers(mean over H, W) + layers(maximum over H, W))
// y = u · spatial gate,  spatial gate = sigmoid(bn(conv([maximum over C; mean over C] of u)))
// and each gate g becomes 1 + mix · (g - 1) with Init::identity. x [B, C, H, W] with any H, W >= 1. u is
// never stored.
//
// In training the norm uses the batch's statistics and updates the running ones. A batch of a single cell has
// none: it uses the running statistics and leaves them alone.
//
// State keys: channel.fc1.weight [R, C, 1, 1], channel.fc1.bias [R], channel.fc2.weight [C, R, 1, 1],
// channel.fc2.bias [C], spatial.conv.weight [1, 2, k, k], spatial.bn.{weight, bias, running_mean,
// running_var, num_batches_tracked}; mix [] with Init::identity. The authors' code holds channel.fc1 and fc2
// as ChannelGate.mlp.1 and .3 [R, C] and the rest as SpatialGate.spatial.*. What fits whose weights:
//   the authors'  cbam
//   timm's        cbam(bias=false, order=mean_max)
//   luuuyi's      cbam(bias=false, norm=false, order=mean_max)
// or without the order, once the two planes of spatial.conv.weight have changed places.
//
// Init::paper is the authors': all biases and spatial.bn.weight 0, so that the spatial gate starts at 1/2.
// Init::identity starts spatial.bn.weight at 1.
//
// Maps: "channel" [B, C], "spatial" [B, H, W].
class CbamImpl : public AttentionBlock {
 public:
  using Options = CbamOptions;
  static constexpr BlockCard kCard{"cbam", "cbam", "Woo et al. 2018", "channel [B, C], spatial [B, H, W]",
                                   "mix"};

  explicit CbamImpl(const CbamOptions& options);

  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor forward_to_end(const torch::Tensor& x, const torch::Tensor& shortcut) override;
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void pretty_print(std::ostream& stream) const override;

  const CbamOptions& options() const { return options_; }  // hidden filled in

  static SpecOptions spec_options(CbamOptions& options);

 private:
  torch::Tensor gate(const torch::Tensor& x, const ops::Tail& tail);
  torch::nn::Module& part(const char* name);

  CbamOptions options_;
  detail::ChannelLayers channel_;
  detail::SpatialLayers spatial_;
  torch::Tensor mix_;
};
TORCH_MODULE(Cbam);

}  // namespace gaze
