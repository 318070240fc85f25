#include "modules/attention/channel_layers.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "modules/core/check.h"

namespace gaze::detail {

int64_t hidden_width(const ChannelLayersOptions& options, std::string_view block) {
  const auto [channels, reduction, divisor, hidden, bias] = options;
  check_that(channels >= 1, block, "channels >= 1", fmt::format("channels {}", channels));
  check_that(reduction >= 1, block, "reduction >= 1", fmt::format("reduction {}", reduction));
  check_that(divisor >= 0, block, "divisor >= 1, or 0 to round down", fmt::format("divisor {}", divisor));
  check_that(hidden >= 0, block, "hidden >= 1, or 0 for channels / reduction",
             fmt::format("hidden {}", hidden));
  if (hidden > 0) return hidden;
  if (divisor == 0) return std::max<int64_t>(1, channels / reduction);
  const double multiples =
      static_cast<double>(channels) / static_cast<double>(reduction) / static_cast<double>(divisor);
  return std::max<int64_t>(1, std::llround(std::floor(multiples + 0.5))) * divisor;
}

ChannelLayers::ChannelLayers(torch::nn::Module& owner, const ChannelLayersOptions& options,
                             std::string_view block) {
  const int64_t hidden = hidden_width(options, block);
  const auto layer = [&](int64_t in, int64_t out) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 1).bias(options.bias));
  };
  fc1_ = owner.register_module("fc1", layer(options.channels, hidden));
  fc2_ = owner.register_module("fc2", layer(hidden, options.channels));
}

ops::SqueezeExciteWeights ChannelLayers::weights() const {
  return {fc1_->weight.flatten(1), fc1_->bias, fc2_->weight.flatten(1), fc2_->bias};
}

int64_t ChannelLayers::macs() const {
  return fc1_->weight.numel() + fc2_->weight.numel();
}

void ChannelLayers::zero_biases() {
  for (const torch::nn::Conv2d& layer : {fc1_, fc2_}) {
    if (layer->bias.defined()) torch::nn::init::zeros_(layer->bias);
  }
}

void add_channel_options(SpecOptions& list, ChannelLayersOptions& options) {
  list.integer("reduction", options.reduction, "channels for each hidden unit").always();
  list.integer("divisor", options.divisor,
               "the hidden width is rounded to a multiple of it, as timm does with 8; 0 rounds down to any");
  list.integer("hidden", options.hidden, "the hidden width itself; 0 takes it from the channels");
  list.boolean("bias", options.bias, "whether the two layers have biases");
}

void leave_out_usual_width(ChannelLayersOptions& options) {
  ChannelLayersOptions usual = options;
  usual.hidden = 0;
  if (hidden_width(usual, "") == options.hidden) options.hidden = 0;
}

}  // namespace gaze::detail
