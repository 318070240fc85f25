#include "models/overlay/colormap.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

std::array<Colour, 256> from_opencv(int which) {
  cv::Mat steps(1, 256, CV_8U);
  for (int i = 0; i < 256; ++i) steps.at<uint8_t>(0, i) = static_cast<uint8_t>(i);
  cv::Mat bgr;
  cv::applyColorMap(steps, bgr, which);
  std::array<Colour, 256> table{};
  for (int i = 0; i < 256; ++i) {
    const auto& colour = bgr.at<cv::Vec3b>(0, i);
    table[static_cast<size_t>(i)] = {colour[2], colour[1], colour[0]};
  }
  return table;
}

std::array<Colour, 256> grays() {
  std::array<Colour, 256> table{};
  for (size_t i = 0; i < 256; ++i) table[i].fill(static_cast<uint8_t>(i));
  return table;
}

// Colours at even steps, straight lines between them.
std::array<Colour, 256> between(const std::vector<Colour>& steps) {
  std::array<Colour, 256> table{};
  for (size_t i = 0; i < 256; ++i) {
    const double place = static_cast<double>(i) / 255 * static_cast<double>(steps.size() - 1);
    const auto lower = static_cast<size_t>(place);
    const size_t upper = std::min(lower + 1, steps.size() - 1);
    for (size_t c = 0; c < 3; ++c) {
      const double from = steps[lower][c], to = steps[upper][c];
      table[i][c] =
          static_cast<uint8_t>(std::lround(from + (place - static_cast<double>(lower)) * (to - from)));
    }
  }
  return table;
}

// Harrower and Brewer 2003, colorbrewer2.org: RdBu, 11 classes, from its blue end.
std::array<Colour, 256> blue_red() {
  return between({{5, 48, 97},
                  {33, 102, 172},
                  {67, 147, 195},
                  {146, 197, 222},
                  {209, 229, 240},
                  {247, 247, 247},
                  {253, 219, 199},
                  {244, 165, 130},
                  {214, 96, 77},
                  {178, 24, 43},
                  {103, 0, 31}});
}

}  // namespace

const std::array<Colour, 256>& colours(Colormap map) {
  static const std::array<std::array<Colour, 256>, 5> tables = {
      from_opencv(cv::COLORMAP_VIRIDIS), from_opencv(cv::COLORMAP_INFERNO), from_opencv(cv::COLORMAP_TURBO),
      grays(), blue_red()};
  return tables[static_cast<size_t>(map)];
}

const std::vector<std::string>& colormap_names() {
  static const std::vector<std::string> names = {"viridis", "inferno", "turbo", "gray", "blue_red"};
  return names;
}

Colormap colormap_named(const std::string& name) {
  const std::vector<std::string>& names = colormap_names();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Colormap>(i);
  }
  fail_unknown("overlay", "colormap", name, names);
}

std::string name_of(Colormap map) {
  return colormap_names()[static_cast<size_t>(map)];
}

}  // namespace gaze::models
