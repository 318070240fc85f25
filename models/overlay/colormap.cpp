#include "models/overlay/colormap.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

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

}  // namespace

const std::array<Colour, 256>& colours(Colormap map) {
  static const std::array<std::array<Colour, 256>, 4> tables = {from_opencv(cv::COLORMAP_VIRIDIS),
                                                                from_opencv(cv::COLORMAP_INFERNO),
                                                                from_opencv(cv::COLORMAP_TURBO), grays()};
  return tables[static_cast<size_t>(map)];
}

const std::vector<std::string>& colormap_names() {
  static const std::vector<std::string> names = {"viridis", "inferno", "turbo", "gray"};
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
