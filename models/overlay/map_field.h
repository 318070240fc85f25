// A grid as a field over the picture. Includes no torch and no OpenCV.
#pragma once

#include "models/image/geometry.h"
#include "models/overlay/overlay.h"

namespace gaze::models::detail {

// The grid at continuous cell coordinates (x, y): cell (row, col) covers [col, col + 1) x [row, row + 1).
double sample(const Grid& grid, double x, double y, Upsample upsample);

// [rect.x, rect.x + width) x [rect.y, rect.y + height)
bool contains(const Rect& rect, double x, double y);

}  // namespace gaze::models::detail
