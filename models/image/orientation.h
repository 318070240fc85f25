// EXIF orientation. Includes no torch and no OpenCV.
#pragma once

#include "models/image/image.h"

namespace gaze::models::detail {

// The picture as its camera saw it: `orientation` 1..8 as EXIF numbers them (6: turn a quarter clockwise, 8:
// the other way, 3: half round, 2 and 4: mirrored, 5 and 7: both).
Image turn_upright(Image image, int orientation);

}  // namespace gaze::models::detail
