// The two layers of a channel gate, shared by the blocks that have one.
#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <string_view>

#include "modules/attention/spec.h"
#include "modules/ops/squeeze_excite/squeeze_excite.h"

namespace gaze {

struct ChannelLayersOptions {
  int64_t channels = 0;    // C
  int64_t reduction = 16;  // C / R
  int64_t divisor = 0;     // R is the multiple of it that is nearest to C / reduction, at least one (timm);
                           // 0: C / reduction rounded down, at least 1
  int64_t hidden = 0;      // R itself; 0: from the channels
  bool bias = true;        // of both layers
};

namespace detail {

// R. Throws ArgumentError.
int64_t hidden_width(const ChannelLayersOptions& options, std::string_view block);

// excite(z) = fc2 · relu(fc1 · z). State keys of the owner: fc1.weight [R, C, 1, 1], fc1.bias [R],
// fc2.weight [C, R, 1, 1], fc2.bias [C]: 1x1 convolutions, as published weights have them.
class ChannelLayers {
 public:
  // Registers the layers with `owner`. Throws ArgumentError in the name of `block`.
  ChannelLayers(torch::nn::Module& owner, const ChannelLayersOptions& options, std::string_view block);

  ops::SqueezeExciteWeights weights() const;  // as the op takes them
  int64_t hidden() const { return fc1_->options.out_channels(); }
  int64_t macs() const;  // for one squeezed vector
  void zero_biases();

 private:
  torch::nn::Conv2d fc1_{nullptr}, fc2_{nullptr};
};

// What spec strings may say of the layers.
void add_channel_options(SpecOptions& list, ChannelLayersOptions& options);

// `options` as a spec string should have them: hidden only where it doesn't follow from the rest.
void leave_out_usual_width(ChannelLayersOptions& options);

}  // namespace detail
}  // namespace gaze
