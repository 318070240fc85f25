// A picture in memory, and reading one from a file. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gaze::models {

// An upright RGB picture, 8 bits a channel, rows from the top: rgb[(y * width + x) * 3 + channel].
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;
  int exif_orientation = 1;  // of the file it came from; already applied
};

struct ImageOptions {
  int64_t max_pixels = 100'000'000;  // larger pictures are refused from their header, before they are decoded
};

// Reads JPEG, PNG, BMP, TIFF or WebP, told apart by content, not by name. EXIF orientation is applied; alpha
// is composited on white; 16-bit values are divided by 257 and rounded; gray and CMYK become RGB.
// Throws FileError (missing, empty, no picture, truncated, damaged, too many pixels): path and what to do.
Image load_image(const std::filesystem::path& path, const ImageOptions& options = {});

// The bytes of a PNG, or of a JPEG of quality 95: ".png", ".jpg". Throws ArgumentError for another extension
// and for an empty picture.
std::string encode_image(const Image& image, const std::string& extension);

// Writes PNG, or JPEG of quality 95, by extension, under a temporary name, then renames. Throws FileError.
void save_image(const Image& image, const std::filesystem::path& path);

}  // namespace gaze::models
