#include "models/metrics/pointing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "modules/core/error.h"

namespace gaze::models {

bool PointingTarget::holds(double x, double y) const {
  const double column = std::floor(x), row = std::floor(y);
  if (!(column >= 0 && row >= 0 && column < width && row < height)) return false;
  return mask[static_cast<size_t>(static_cast<int64_t>(row) * width + static_cast<int64_t>(column))] != 0;
}

double pointing_hit(const std::vector<float>& values, int64_t rows, int64_t cols,
                    const std::array<double, 6>& to_image, const PointingTarget& target) {
  if (values.empty() || static_cast<int64_t>(values.size()) != rows * cols) {
    throw ArgumentError(
        fmt::format("[pointing] expected values [{}, {}]; got {} values", rows, cols, values.size()));
  }
  if (std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); })) {
    throw ArgumentError("[pointing] expected values that are numbers; got NaN");
  }
  const float hottest = *std::max_element(values.begin(), values.end());
  int64_t tied = 0, hits = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      if (values[static_cast<size_t>(row * cols + col)] != hottest) continue;
      const double x = col + 0.5, y = row + 0.5;
      ++tied;
      hits += target.holds(to_image[0] * x + to_image[1] * y + to_image[2],
                           to_image[3] * x + to_image[4] * y + to_image[5]);
    }
  }
  return static_cast<double>(hits) / static_cast<double>(tied);
}

double centre_hit(const PointingTarget& target) {
  return target.holds(target.width / 2.0, target.height / 2.0) ? 1 : 0;
}

}  // namespace gaze::models
