#include "models/overlay/contour.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "models/overlay/map_field.h"

namespace gaze::models::detail {
namespace {

constexpr double kLattice = 1024;  // points a side, at most
constexpr int kShift = 6;          // fractional bits of OpenCV's coordinates

// The map on a lattice over what was seen, with a rim of unseen points around it.
struct Lattice {
  double left = 0, top = 0, step = 1;
  int64_t width = 0, height = 0;
  std::vector<float> values;

  double x(double column) const { return left + (column + 0.5) * step; }
  double y(double row) const { return top + (row + 0.5) * step; }
  float at(int64_t column, int64_t row) const { return values[static_cast<size_t>(row * width + column)]; }
};

Lattice lattice_of(const Geometry& geometry, const Grid& grid, Upsample upsample) {
  const Affine to_cell = geometry.cell_to_image(grid.rows, grid.cols).inverse();
  const Rect& seen = geometry.seen;
  Lattice lattice;
  lattice.step = std::max(1.0, std::max(seen.width, seen.height) / kLattice);
  lattice.left = seen.x - lattice.step;
  lattice.top = seen.y - lattice.step;
  lattice.width = static_cast<int64_t>(std::ceil(seen.width / lattice.step)) + 2;
  lattice.height = static_cast<int64_t>(std::ceil(seen.height / lattice.step)) + 2;
  for (int64_t row = 0; row < lattice.height; ++row) {
    for (int64_t column = 0; column < lattice.width; ++column) {
      const double x = lattice.x(static_cast<double>(column)), y = lattice.y(static_cast<double>(row));
      float value = 0;
      if (contains(seen, x, y)) {
        const auto [cell_x, cell_y] = to_cell(x, y);
        value = std::max(0.0F, static_cast<float>(sample(grid, cell_x, cell_y, upsample)));
      }
      lattice.values.push_back(value);
    }
  }
  return lattice;
}

// How far from a, at value `from`, the level lies on the way to b, at value `to`.
double crossing(double from, double to, double level) {
  return (level - from) / (to - from);
}

std::vector<Segment> crossings(const Lattice& lattice, double level) {
  std::vector<Segment> segments;
  if (!std::isfinite(level)) return segments;
  for (int64_t row = 0; row + 1 < lattice.height; ++row) {
    for (int64_t column = 0; column + 1 < lattice.width; ++column) {
      // The corners in a round, and the crossings on the sides between them.
      const std::array<std::array<int64_t, 2>, 4> corners = {
          {{column, row}, {column + 1, row}, {column + 1, row + 1}, {column, row + 1}}};
      std::array<std::array<double, 2>, 4> points{};
      size_t count = 0;
      for (size_t side = 0; side < 4; ++side) {
        const auto& a = corners[side];
        const auto& b = corners[(side + 1) % 4];
        const double from = lattice.at(a[0], a[1]), to = lattice.at(b[0], b[1]);
        if ((from >= level) == (to >= level)) continue;
        const double way = crossing(from, to, level);
        const auto between = [&](size_t axis) {
          return static_cast<double>(a[axis]) + way * static_cast<double>(b[axis] - a[axis]);
        };
        points[count++] = {lattice.x(between(0)), lattice.y(between(1))};
      }
      // Four crossings are a saddle: two pieces, either way.
      for (size_t i = 0; i + 1 < count; i += 2)
        segments.push_back({points[i][0], points[i][1], points[i + 1][0], points[i + 1][1]});
    }
  }
  return segments;
}

}  // namespace

std::vector<double> mass_levels(std::vector<float> values, const std::vector<double>& shares) {
  std::sort(values.begin(), values.end(), std::greater<>());
  double sum = 0;
  for (const float value : values) sum += std::max(0.0F, value);
  std::vector<double> levels;
  for (const double share : shares) {
    double held = 0;
    const auto last = std::find_if(values.begin(), values.end(), [&](float value) {
      held += std::max(0.0F, value);
      return held > 0 && held >= share * sum;
    });
    levels.push_back(last == values.end() ? std::numeric_limits<double>::infinity() : *last);
  }
  return levels;
}

std::vector<std::vector<Segment>> mass_contours(const Geometry& geometry, const Grid& grid, Upsample upsample,
                                                const std::vector<double>& shares) {
  const Lattice lattice = lattice_of(geometry, grid, upsample);
  std::vector<std::vector<Segment>> contours;
  for (const double level : mass_levels(lattice.values, shares))
    contours.push_back(crossings(lattice, level));
  return contours;
}

void draw_segments(Image& picture, const std::vector<Segment>& segments, double width) {
  cv::Mat pixels(static_cast<int>(picture.height), static_cast<int>(picture.width), CV_8UC3,
                 picture.rgb.data());
  // A pixel's centre is a whole number in OpenCV.
  const auto place = [](double coordinate) {
    return static_cast<int>(std::lround((coordinate - 0.5) * (1 << kShift)));
  };
  const int thin = std::max(1, static_cast<int>(std::lround(width)));
  for (const auto& [colour, thickness] : {std::pair(20, 3 * thin), std::pair(255, thin)}) {
    for (const Segment& s : segments) {
      cv::line(pixels, {place(s[0]), place(s[1])}, {place(s[2]), place(s[3])},
               cv::Scalar(colour, colour, colour), thickness, cv::LINE_AA, kShift);
    }
  }
}

}  // namespace gaze::models::detail
