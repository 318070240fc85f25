// The convolution of a spatial gate and its norm, shared by the blocks that have them.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <string_view>

#include "modules/attention/spec.h"
#include "modules/ops/channel_spatial_gate/channel_spatial_gate.h"

namespace gaze {

// Which plane of the convolution's weight meets which plane of the cells.
enum class PlaneOrder {
  max_mean,  // the authors'
  mean_max,  // timm's and luuuyi's
};

struct SpatialLayersOptions {
  int64_t kernel = 7;  // k, odd
  bool norm = true;    // batch norm (eps 1e-5, momentum 0.01) after the convolution
  PlaneOrder order = PlaneOrder::max_mean;
};

namespace detail {

// p = bn(conv(maximum and mean over C)). State keys of the owner: conv.weight [1, 2, k, k], bn.{weight, bias,
// running_mean, running_var, num_batches_tracked}.
class SpatialLayers {
 public:
  // Registers the layers with `owner`. Throws ArgumentError in the name of `block`.
  SpatialLayers(torch::nn::Module& owner, const SpatialLayersOptions& options, std::string_view block);

  // ops::spatial_gate with these layers. In training the norm uses the batch's statistics and updates the
  // running ones; a batch of one cell or none has none: it uses the running ones and leaves them alone. Files
  // the map "spatial" [B, H, W].
  torch::Tensor gate(const torch::Tensor& x, const torch::Tensor& mix, const ops::Tail& tail);
  // The same after a channel gate: ops::channel_spatial_gate. Files its map "channel" [B, C] first.
  torch::Tensor gate(const torch::Tensor& x, const torch::Tensor& mix, const ops::Tail& tail,
                     const ops::SqueezeExciteWeights& channel, ops::Pool pool);

  // The authors' start, bn.weight 0 (a gate of 1/2), with Init::paper; bn.weight 1 with Init::identity.
  void reset_parameters(Init init);

  int64_t macs(int64_t height, int64_t width) const;

 private:
  bool batch_statistics(const torch::Tensor& x) const;
  ops::SpatialGateWeights weights(const torch::Tensor& x) const;
  // Running statistics and the map.
  torch::Tensor finish(const torch::Tensor& x, const ops::SpatialGated& gated);

  PlaneOrder order_;
  torch::nn::Conv2d conv_{nullptr};
  torch::nn::BatchNorm2d bn_{nullptr};
};

// What spec strings may say of the layers.
void add_spatial_options(SpecOptions& list, SpatialLayersOptions& options);

}  // namespace detail
}  // namespace gaze
