// Squeeze-and-excitation (Hu et al. 2018): a gate a channel from the mean of its map.
#pragma once

#include "modules/attention/channel_block.h"

namespace gaze {

using SeOptions = ChannelBlockOptions;

// y = x · gate, gate = sigmoid(fc2 · relu(fc1 · mean of x over H, W)), or 1 + mix · (that - 1) with
// Init::identity. x [B, C, H, W] with any H, W >= 1.
//
// State keys: fc1.weight [R, C, 1, 1], fc1.bias [R], fc2.weight [C, R, 1, 1], fc2.bias [C]: 1x1 convolutions
// as timm and torchvision write them (linear ports hold [R, C]: reshape); mix [] with Init::identity.
//
// Maps: "channel" [B, C].
class SeImpl : public detail::ChannelBlock {
 public:
  static constexpr BlockCard kCard{"se", "se", "Hu et al. 2018", "channel [B, C]", "mix"};

  explicit SeImpl(const SeOptions& options) : ChannelBlock(options, ops::Pool::avg, kCard, "gaze::Se") {}

  static SpecOptions spec_options(SeOptions& options) {
    return detail::channel_block_options(kCard.name, options);
  }
};
TORCH_MODULE(Se);

}  // namespace gaze
