// Pictures for tests: the golden ones, painted ones, raw bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "models/image/image.h"

namespace gaze::test {

using Rgb = std::array<int, 3>;

inline std::filesystem::path golden_image(const std::string& name) {
  return std::filesystem::path(GAZE_SOURCE_DIR) / "tests" / "golden" / "image" / name;
}

inline models::Image filled(int64_t width, int64_t height, const Rgb& colour) {
  models::Image image;
  image.width = width;
  image.height = height;
  for (int64_t i = 0; i < width * height; ++i) {
    for (const int value : colour) image.rgb.push_back(static_cast<uint8_t>(value));
  }
  return image;
}

// Fills the pixels whose column is in [left, right) and row in [top, bottom).
inline void paint(models::Image& image, int64_t left, int64_t top, int64_t right, int64_t bottom,
                  const Rgb& colour) {
  for (int64_t y = std::max<int64_t>(top, 0); y < std::min(bottom, image.height); ++y) {
    for (int64_t x = std::max<int64_t>(left, 0); x < std::min(right, image.width); ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        image.rgb[static_cast<size_t>((y * image.width + x) * 3 + c)] =
            static_cast<uint8_t>(colour[static_cast<size_t>(c)]);
      }
    }
  }
}

inline Rgb pixel(const models::Image& image, int64_t x, int64_t y) {
  const uint8_t* p = image.rgb.data() + (y * image.width + x) * 3;
  return {p[0], p[1], p[2]};
}

// Largest difference of any channel; 256 if the sizes differ.
inline int largest_difference(const models::Image& a, const models::Image& b) {
  if (a.width != b.width || a.height != b.height || a.rgb.size() != b.rgb.size()) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i)
    largest = std::max(largest, std::abs(int{a.rgb[i]} - int{b.rgb[i]}));
  return largest;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace gaze::test
