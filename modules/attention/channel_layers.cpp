#include "modules/attention/channel_layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "modules/core/check.h"

namespace gaze::detail {

int64_t hidden_width(int64_t channels, int64_t reduction, int64_t hidden, std::string_view module) {
  check_that(channels >= 1, module, "channels >= 1", fmt::format("channels {}", channels));
  check_that(reduction >= 1, module, "reduction >= 1", fmt::format("reduction {}", reduction));
  check_that(hidden >= 0, module, "hidden >= 1, or 0 for channels / reduction",
             fmt::format("hidden {}", hidden));
  return hidden > 0 ? hidden : std::max<int64_t>(1, channels / reduction);
}

torch::nn::Conv2d pointwise(int64_t in, int64_t out, bool bias) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 1).bias(bias));
}

ops::SqueezeExciteWeights channel_weights(const torch::nn::Conv2d& fc1, const torch::nn::Conv2d& fc2) {
  return {fc1->weight.flatten(1), fc1->bias, fc2->weight.flatten(1), fc2->bias};
}

}  // namespace gaze::detail
