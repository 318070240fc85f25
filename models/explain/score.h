// What is explained: numbers that a network says of a picture.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace gaze::models {

// x [B, 3, H, W], normalised pictures -> [B, K] numbers each, in the graph of x and of what the network
// passed on the way: logits of classes, log-probabilities of a caption's words.
using Scores = std::function<at::Tensor(const at::Tensor& x)>;

}  // namespace gaze::models
