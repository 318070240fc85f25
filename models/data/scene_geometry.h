// Masks, and what relation two of them are in. Includes no torch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gaze::models {

using Mask =
    std::vector<uint8_t>;  // height * width from the top left, row by row: 1 where the object is visible

// Box [x0, x1) x [y0, y1) and centre of mass of a mask, in pixels.
struct Extent {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  double x = 0, y = 0;
  int64_t area = 0;
};

Extent extent_of(const Mask& mask, int64_t width, int64_t height);

// Whether `a` is NAME ("left of", "right of", "above", "below", "next to") `b`, by a clear margin: the
// centres are further apart than 0.22 of the picture in that direction and less than 0.22 in the other, and
// the boxes overlap by at most 0.03. "next to": left or right of, with a gap of at most 0.15. Other names:
// false.
bool relation_holds(const std::string& name, const Extent& a, const Extent& b, int64_t width, int64_t height);

// "left of" -> "right of" and so on; an unknown name is returned as it is.
std::string inverse_relation(const std::string& name);

}  // namespace gaze::models
