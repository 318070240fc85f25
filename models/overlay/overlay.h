// Maps drawn on the person's own picture. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/image/geometry.h"
#include "models/image/image.h"

namespace gaze::models {

// A map's raw grid: values[row * cols + col].
struct Grid {
  int64_t rows = 0, cols = 0;
  std::vector<float> values;
};

}  // namespace gaze::models
