// The channel half of convolutional block attention alone (Woo et al. 2018): a gate a channel from the mean
// and the maximum of its map.
#pragma once

#include "modules/attention/channel_block.h"

namespace gaze {

using CamOptions = ChannelBlockOptions;

// y = x · gate, gate = sigmoid(layers(mean over H, W) + layers(maximum over H, W)), or 1 + mix · (that - 1)
// with Init::identity; layers(z) = fc2 · relu(fc1 · z). x [B, C, H, W] with any H, W >= 1.
//
// State keys: fc1.weight [R, C, 1, 1], fc1.bias [R], fc2.weight [C, R, 1, 1], fc2.bias [C], Cbam's below
// "channel."; mix [] with Init::identity. Biases start at 0, as the authors' do.
//
// Maps: "channel" [B, C].
class CamImpl : public detail::ChannelBlock {
 public:
  static constexpr BlockCard kCard{"cam", "cam", "Woo et al. 2018", "channel [B, C]", "mix"};

  explicit CamImpl(const CamOptions& options)
      : ChannelBlock(options, ops::Pool::avg_max, kCard, "gaze::Cam") {
    layers_.zero_biases();
  }

  static SpecOptions spec_options(CamOptions& options) {
    return detail::channel_block_options(kCard.name, options);
  }
};
TORCH_MODULE(Cam);

}  // namespace gaze
