#include "models/data/scene_geometry.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaze::models {
namespace {

constexpr double kApart = 0.22, kAside = 0.22, kOverlap = 0.03, kNear = 0.15;

// a before b along one axis: centres, facing edges, distance on the other axis, all in units of the picture.
bool before(double a, double b, double a_end, double b_begin, double aside) {
  return b - a > kApart && a_end - b_begin <= kOverlap && std::fabs(aside) < kAside;
}

}  // namespace

Extent extent_of(const Mask& mask, int64_t width, int64_t height) {
  Extent extent;
  int64_t left = width, right = -1, top = height, bottom = -1;
  double sum_x = 0, sum_y = 0;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      if (!mask[static_cast<size_t>(y * width + x)]) continue;
      left = std::min(left, x), right = std::max(right, x);
      top = std::min(top, y), bottom = std::max(bottom, y);
      sum_x += x + 0.5, sum_y += y + 0.5;
      ++extent.area;
    }
  }
  if (extent.area == 0) return extent;
  extent.x0 = static_cast<double>(left), extent.x1 = static_cast<double>(right + 1);
  extent.y0 = static_cast<double>(top), extent.y1 = static_cast<double>(bottom + 1);
  extent.x = sum_x / extent.area, extent.y = sum_y / extent.area;
  return extent;
}

bool relation_holds(const std::string& name, const Extent& a, const Extent& b, int64_t width,
                    int64_t height) {
  if (a.area == 0 || b.area == 0) return false;
  const double w = static_cast<double>(width), h = static_cast<double>(height);
  if (name == "left of") return before(a.x / w, b.x / w, a.x1 / w, b.x0 / w, (a.y - b.y) / h);
  if (name == "above") return before(a.y / h, b.y / h, a.y1 / h, b.y0 / h, (a.x - b.x) / w);
  if (name == "right of" || name == "below")
    return relation_holds(inverse_relation(name), b, a, width, height);
  if (name == "next to") {
    const double gap = std::max(b.x0 - a.x1, a.x0 - b.x1) / w;
    return gap <= kNear &&
           (relation_holds("left of", a, b, width, height) || relation_holds("left of", b, a, width, height));
  }
  return false;
}

std::string inverse_relation(const std::string& name) {
  static const std::pair<const char*, const char*> pairs[] = {
      {"left of", "right of"}, {"above", "below"}, {"in front of", "behind"}};
  for (const auto& [one, other] : pairs) {
    if (name == one) return other;
    if (name == other) return one;
  }
  return name;
}

}  // namespace gaze::models
