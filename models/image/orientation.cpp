#include "models/image/orientation.h"

#include <algorithm>

namespace gaze::models::detail {

Image turn_upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool transposed = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image upright;
  upright.width = transposed ? image.height : image.width;
  upright.height = transposed ? image.width : image.height;
  upright.exif_orientation = image.exif_orientation;
  upright.rgb.resize(image.rgb.size());
  uint8_t* out = upright.rgb.data();
  for (int64_t y = 0; y < upright.height; ++y) {
    for (int64_t x = 0; x < upright.width; ++x, out += 3) {
      int64_t from_x = transposed ? y : x;
      int64_t from_y = transposed ? x : y;
      if (from_right) from_x = image.width - 1 - from_x;
      if (from_bottom) from_y = image.height - 1 - from_y;
      std::copy_n(image.rgb.data() + (from_y * image.width + from_x) * 3, 3, out);
    }
  }
  return upright;
}

}  // namespace gaze::models::detail
