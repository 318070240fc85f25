// Picture -> model input, with the way back.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/image/geometry.h"
#include "models/image/image.h"

namespace gaze::models {

enum class ResizeMode {
  squash,     // to size x size, aspect ratio lost, everything seen
  crop,       // short side to `resize`, then the centre size x size
  letterbox,  // long side to size, the rest filled with the mean colour
  fit,        // as large as fits into size, no padding: the input has the picture's shape, in whole pixels
};

enum class Filter { nearest, bilinear, bicubic, lanczos };  // as PIL names and computes them, antialiased

struct Preprocessing {
  int64_t height = 224, width = 224;  // of the model's input
  ResizeMode mode = ResizeMode::crop;
  int64_t resize = 256;  // short side before the crop; crop only
  Filter filter = Filter::bilinear;
  std::array<float, 3> mean = {0.485F, 0.456F, 0.406F};  // RGB, in 0..1
  std::array<float, 3> std = {0.229F, 0.224F, 0.225F};
};

// ImageNet preprocessing of torchvision's ResNets, and of EfficientNet-Lite0 ((x - 127) / 128).
Preprocessing resnet_preprocessing();
Preprocessing efficientnet_lite_preprocessing(int64_t size = 224);

// {"size": [224, 224], "mode": "crop", "resize": 256, "filter": "bilinear", "mean": [...], "std": [...]};
// from_json throws ArgumentError naming the bad key.
nlohmann::json to_json(const Preprocessing& preprocessing);
Preprocessing preprocessing_from_json(const nlohmann::json& json);

struct PreparedImage {
  at::Tensor input;  // [3, H, W] float32, (rgb / 255 - mean) / std
  Geometry geometry;
};

PreparedImage preprocess(const Image& image, const Preprocessing& preprocessing);

// PIL's Image.resize((width, height), filter) with its antialiasing and its rounding to uint8.
Image resize(const Image& image, int64_t width, int64_t height, Filter filter);

}  // namespace gaze::models
