#include "models/image/geometry.h"

namespace gaze::models {

Affine Affine::after(const Affine& first) const {
  return {a * first.a + b * first.d, a * first.b + b * first.e, a * first.c + b * first.f + c,
          d * first.a + e * first.d, d * first.b + e * first.e, d * first.c + e * first.f + f};
}

Affine Affine::inverse() const {
  const double determinant = a * e - b * d;
  const double ia = e / determinant, ib = -b / determinant;
  const double id = -d / determinant, ie = a / determinant;
  return {ia, ib, -(ia * c + ib * f), id, ie, -(id * c + ie * f)};
}

Affine Geometry::cell_to_image(int64_t rows, int64_t cols) const {
  Affine cell_to_input;
  cell_to_input.a = static_cast<double>(input_width) / static_cast<double>(cols);
  cell_to_input.e = static_cast<double>(input_height) / static_cast<double>(rows);
  return input_to_image.after(cell_to_input);
}

}  // namespace gaze::models
