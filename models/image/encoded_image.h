// A picture's file in memory, between reading and decoding it. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "models/image/image.h"

namespace gaze::models {

struct EncodedImage {
  std::filesystem::path path;
  std::vector<uint8_t> bytes;
  int64_t width = 0, height = 0;  // by its header, before EXIF orientation
};

// load_image(path, options) = decode(read_encoded(path, options)); who reads many pictures at once knows
// between the two how much memory the next one takes. Each throws its part of load_image()'s FileErrors.
EncodedImage read_encoded(const std::filesystem::path& path, const ImageOptions& options = {});
Image decode(const EncodedImage& encoded);

}  // namespace gaze::models
