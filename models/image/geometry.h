// Where a point of the model's input, or a cell of its maps, lies on the person's picture. Includes no torch.
#pragma once

#include <array>
#include <cstdint>

namespace gaze::models {

// (x, y) -> (a x + b y + c, d x + e y + f). Coordinates are continuous: pixel (column x, row y) covers
// [x, x + 1) x [y, y + 1), so its centre is at (x + 0.5, y + 0.5).
struct Affine {
  double a = 1, b = 0, c = 0;
  double d = 0, e = 1, f = 0;

  std::array<double, 2> operator()(double x, double y) const {
    return {a * x + b * y + c, d * x + e * y + f};
  }
  // this after `first`
  Affine after(const Affine& first) const;
  Affine inverse() const;
  std::array<double, 6> numbers() const { return {a, b, c, d, e, f}; }
};

struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
};

// How one picture became one model input.
struct Geometry {
  int64_t width = 0, height = 0;              // of the upright picture (after EXIF), in pixels
  int64_t input_width = 0, input_height = 0;  // of the model's input
  Affine input_to_image;                      // model input coordinates -> upright picture coordinates
  Rect seen;  // the part of the picture that the model saw, in picture coordinates

  // Affine from cell coordinates of a rows x cols map over the input (cell (row, col) has its centre at
  // (col + 0.5, row + 0.5)) to picture coordinates.
  Affine cell_to_image(int64_t rows, int64_t cols) const;
};

}  // namespace gaze::models
