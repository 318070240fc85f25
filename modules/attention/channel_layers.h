// The two layers of a channel gate, shared by the modules that have one.
#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <string_view>

#include "modules/ops/squeeze_excite/squeeze_excite.h"

namespace gaze::detail {

// R: `hidden` where it is given, else channels / reduction rounded down, at least 1. Throws ArgumentError.
int64_t hidden_width(int64_t channels, int64_t reduction, int64_t hidden, std::string_view module);

// A linear layer in the form published weights have it: weight [out, in, 1, 1].
torch::nn::Conv2d pointwise(int64_t in, int64_t out, bool bias);

// The layers as the op takes them.
ops::SqueezeExciteWeights channel_weights(const torch::nn::Conv2d& fc1, const torch::nn::Conv2d& fc2);

}  // namespace gaze::detail
