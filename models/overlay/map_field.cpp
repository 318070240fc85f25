#include "models/overlay/map_field.h"

#include <algorithm>
#include <cmath>

namespace gaze::models::detail {
namespace {

int64_t clamped(double value, int64_t size) {
  return static_cast<int64_t>(std::clamp(std::floor(value), 0.0, static_cast<double>(size - 1)));
}

}  // namespace

double sample(const Grid& grid, double x, double y, Upsample upsample) {
  const auto at = [&](int64_t row, int64_t col) {
    return static_cast<double>(grid.values[static_cast<size_t>(row * grid.cols + col)]);
  };
  if (upsample == Upsample::cells) return at(clamped(y, grid.rows), clamped(x, grid.cols));
  x -= 0.5;
  y -= 0.5;
  const int64_t left = clamped(x, grid.cols), right = clamped(x + 1, grid.cols);
  const int64_t top = clamped(y, grid.rows), bottom = clamped(y + 1, grid.rows);
  const double fx = x - std::floor(x), fy = y - std::floor(y);
  const double upper = at(top, left) + fx * (at(top, right) - at(top, left));
  const double lower = at(bottom, left) + fx * (at(bottom, right) - at(bottom, left));
  return upper + fy * (lower - upper);
}

bool contains(const Rect& rect, double x, double y) {
  return x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
}

}  // namespace gaze::models::detail
