// A backbone with golden weights, and what the original Python code computed with them.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/backbone/backbone.h"
#include "models/image/image.h"

namespace gaze::test {

// tests/golden/backbone/<name>.json
nlohmann::json golden_file(const std::string& name);

// The network `name`, or the one of another name and with the options that `golden` tells, in evaluation
// mode.
std::shared_ptr<models::Backbone> golden_network(const nlohmann::json& golden, const std::string& name);

// EfficientNet-Lite0 with its published weights, in evaluation mode; null where they were not fetched.
std::shared_ptr<models::Backbone> published_lite0();

// Pixels [top + y, left + x] of the picture after every step-th row and column were taken:
// uint8 [height, width, 3].
torch::Tensor crop_of(const models::Image& image, int64_t top, int64_t left, int64_t height, int64_t width,
                      int64_t step = 1);

// (rgb - mean) / std as float32 [1, 3, H, W]; mean and std are in 0..255.
torch::Tensor normalise(const torch::Tensor& rgb, const std::vector<float>& mean,
                        const std::vector<float>& std);

}  // namespace gaze::test
