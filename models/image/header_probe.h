// What a picture file says about itself, read without decoding a pixel. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>

#include "models/image/byte_view.h"

namespace gaze::models::detail {

enum class PictureFormat { jpeg, png, bmp, tiff, webp };

const char* format_name(PictureFormat format);

// The first few hundred bytes tell.
struct PictureSize {
  PictureFormat format = PictureFormat::jpeg;
  int64_t width = 0, height = 0;  // as stored, before EXIF orientation
};

// The whole file tells.
struct PictureDetails {
  int orientation = 1;         // EXIF, 1..8
  bool premultiplied = false;  // colours are already multiplied by alpha
  int gray_transparent =
      -1;             // PNG's one gray value that means transparent, at the stored bit depth; -1: none
  int bit_depth = 8;  // of a PNG's samples
};

// Format by content, size from the header. Throws BadPicture: not a picture, or a size that is not positive.
PictureSize probe_size(ByteView file);

// Walks the file to its end. Throws BadPicture if it is truncated or its structure is damaged.
PictureDetails probe_details(ByteView file, const PictureSize& size);

}  // namespace gaze::models::detail
