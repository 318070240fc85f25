// The spatial half of convolutional block attention alone (Woo et al. 2018): a gate a cell from the maximum
// and the mean over channels.
#pragma once

#include <cstdint>
#include <string>

#include "modules/attention/block.h"
#include "modules/attention/spatial_layers.h"

namespace gaze {

struct SamOptions : SpatialLayersOptions {
  int64_t channels = 0;     // C
  Init init = Init::paper;  // identity adds the state key "mix"
};

// y = x · gate, gate = sigmoid(bn(conv([maximum over C; mean over C] of x))), or 1 + mix · (that - 1) with
// Init::identity. x [B, C, H, W] with any H, W >= 1. The norm in training: as Cbam's.
//
// State keys: conv.weight [1, 2, k, k], bn.{weight, bias, running_mean, running_var, num_batches_tracked},
// Cbam's below "spatial."; mix [] with Init::identity. Starts as Cbam's spatial half.
//
// Maps: "spatial" [B, H, W].
class SamImpl : public AttentionBlock {
 public:
  using Options = SamOptions;
  static constexpr BlockCard kCard{"sam", "sam", "Woo et al. 2018", "spatial [B, H, W]", "mix"};

  explicit SamImpl(const SamOptions& options);

  torch::Tensor forward(const torch::Tensor& x) override;
  torch::Tensor forward_to_end(const torch::Tensor& x, const torch::Tensor& shortcut) override;
  std::string spec() const override;
  int64_t macs(int64_t height, int64_t width) const override;
  void pretty_print(std::ostream& stream) const override;

  const SamOptions& options() const { return options_; }

  static SpecOptions spec_options(SamOptions& options);

 private:
  torch::Tensor gate(const torch::Tensor& x, const ops::Tail& tail);

  SamOptions options_;
  detail::SpatialLayers layers_;
  torch::Tensor mix_;
};
TORCH_MODULE(Sam);

}  // namespace gaze
