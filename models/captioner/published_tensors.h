// Of the tensors of a published captioner: new names, sizes, the ResNet among them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/captioner/published_captioner.h"
#include "models/checkpoint/resnet_shape.h"

namespace gaze::models::detail {

// How names start there and here.
using RenamedStarts = std::vector<std::pair<std::string, std::string>>;

// `name` with its start changed. Throws ArgumentError, in the name of `op`, where none of the starts is its.
std::string renamed(const std::string& name, const RenamedStarts& starts, const char* op);

// Rows and columns of a matrix that must be there. Throws ArgumentError.
std::array<int64_t, 2> matrix_size(const StateDict& weights, const std::string& name, const char* op);

// The network of "backbone.*". Throws ArgumentError unless it is one of gaze's.
ResNetShape resnet_of(const StateDict& weights, const char* op);

}  // namespace gaze::models::detail
