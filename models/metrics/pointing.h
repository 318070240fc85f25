// The pointing game: does a map's hottest cell lie on the thing it should show? Includes no torch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace gaze::models {

// The thing: 1 where it is visible, row by row from the top left.
struct PointingTarget {
  const std::vector<uint8_t>& mask;  // not kept beyond the call
  int64_t width = 0, height = 0;

  // Whether the pixel that holds the point (x, y), in picture coordinates, is on it; false outside the
  // picture.
  bool holds(double x, double y) const;
};

// 1 if the centre of the hottest cell of values [rows, cols], brought to the picture by `to_image` (x' = a x
// + b y + c, y' = d x + e y + f, from cell coordinates; the centre of cell (row, col) is (col + 0.5, row +
// 0.5)), is on the target, else 0; no tolerance. Where several cells are equally hot, the share of them that
// is on it: a flat map scores as chance does. Throws ArgumentError where there are not rows * cols values,
// none, or one is not a number.
double pointing_hit(const std::vector<float>& values, int64_t rows, int64_t cols,
                    const std::array<double, 6>& to_image, const PointingTarget& target);

// The baseline that looks at nothing: 1 if the picture's centre is on the target, else 0.
double centre_hit(const PointingTarget& target);

}  // namespace gaze::models
