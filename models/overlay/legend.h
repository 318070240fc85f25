// A colour bar with numbers. Includes no torch and no OpenCV.
#pragma once

#include <string>

#include "models/overlay/label.h"
#include "models/overlay/overlay.h"

namespace gaze::models::detail {

// What stands at the ends of the bar: "1 = uniform" and "6.3x" for lift, plain numbers otherwise.
std::string low_text(const Legend& legend);
std::string high_text(const Legend& legend);

// Width of bar and numbers as draw_bar() lays them out.
int64_t bar_width(const Legend& legend, const TextStyle& style);

// Numbers to the left and right of the bar, on one line; (x, baseline) as for draw_text().
void draw_bar(Image& picture, int64_t x, int64_t baseline, const Legend& legend, const TextStyle& style);

}  // namespace gaze::models::detail
