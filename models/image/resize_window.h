// Part of a resized picture, without making the rest. Includes no torch and no OpenCV.
#pragma once

#include "models/image/preprocess.h"

namespace gaze::models::detail {

// A rectangle of whole pixels.
struct Window {
  int64_t left = 0, top = 0, width = 0, height = 0;
};

// resize(image, width, height, filter), cut to `window`, which lies within it.
Image resize_window(const Image& image, int64_t width, int64_t height, Filter filter, const Window& window);

}  // namespace gaze::models::detail
