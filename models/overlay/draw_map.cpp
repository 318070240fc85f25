#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "models/overlay/contour.h"
#include "models/overlay/label.h"
#include "models/overlay/map_field.h"
#include "models/overlay/overlay.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr const char* kOp = "draw_map";

void check(const Image& picture, const Geometry& geometry, const Grid& grid, const DrawOptions& options) {
  const auto size = [](int64_t a, int64_t b) { return std::to_string(a) + " x " + std::to_string(b); };
  check_that(
      grid.rows >= 1 && grid.cols >= 1 && static_cast<int64_t>(grid.values.size()) == grid.rows * grid.cols,
      kOp, "a grid of rows * cols values",
      std::to_string(grid.values.size()) + " values for " + size(grid.rows, grid.cols));
  check_that(picture.width == geometry.width && picture.height == geometry.height, kOp,
             "the picture of the geometry, " + size(geometry.width, geometry.height),
             size(picture.width, picture.height));
  check_that(options.opacity >= 0 && options.opacity <= 1, kOp, "opacity from 0 to 1",
             std::to_string(options.opacity));
  for (const double share : options.contours) {
    check_that(share > 0 && share < 1, kOp, "contours that hold between 0 and 1 of the mass",
               std::to_string(share));
  }
  check_that(options.gamma > 0, kOp, "gamma above 0", std::to_string(options.gamma));
}

// Dimmed, with light diagonal lines a fraction of the picture's size apart.
void hatch(uint8_t* pixel, int64_t x, int64_t y, int64_t period) {
  const bool line = (x + y) % period < std::max<int64_t>(1, period / 6);
  for (int c = 0; c < 3; ++c) {
    const int gray = (pixel[c] * 45 + 128 * 55) / 100;
    pixel[c] = static_cast<uint8_t>(line ? (gray + 255) / 2 : gray);
  }
}

double line_width(const Image& drawn) {
  return std::max(1.0, static_cast<double>(std::min(drawn.width, drawn.height)) / 400);
}

// The borders between cells, where they cross what was seen.
void draw_grid(Image& drawn, const Geometry& geometry, const Grid& grid) {
  const Affine to_cell = geometry.cell_to_image(grid.rows, grid.cols).inverse();
  uint8_t* pixel = drawn.rgb.data();
  for (int64_t y = 0; y < drawn.height; ++y) {
    for (int64_t x = 0; x < drawn.width; ++x, pixel += 3) {
      const auto here = to_cell(static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5);
      const auto before = to_cell(static_cast<double>(x) - 0.5, static_cast<double>(y) - 0.5);
      if (!detail::contains(geometry.seen, static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5) ||
          !detail::contains(geometry.seen, static_cast<double>(x) - 0.5, static_cast<double>(y) - 0.5) ||
          (std::floor(here[0]) == std::floor(before[0]) && std::floor(here[1]) == std::floor(before[1])))
        continue;
      for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>((pixel[c] + 255) / 2);
    }
  }
}

// The smaller the share, the wider the line.
void draw_contours(Image& drawn, const Geometry& geometry, const Grid& grid, const DrawOptions& options) {
  if (options.contours.empty()) return;
  std::vector<double> shares = options.contours;
  std::sort(shares.begin(), shares.end(), std::greater<>());
  double width = line_width(drawn);
  for (const auto& contour : detail::mass_contours(geometry, grid, options.upsample, shares)) {
    detail::draw_segments(drawn, contour, width);
    width += line_width(drawn);
  }
}

void draw_state(Image& drawn, const std::string& text) {
  detail::TextStyle style;
  style.height = std::clamp<int64_t>(std::min(drawn.width, drawn.height) / 24, 8, 40);
  while (style.height > 5 && detail::text_width(text, style) + 2 * style.height > drawn.width) --style.height;
  style.colour = {255, 255, 255};
  const int64_t band = 2 * style.height + style.height / 2;
  detail::fill_rectangle(drawn, 0, drawn.height - band, drawn.width, band, {40, 40, 40});
  detail::draw_text(drawn, style.height, drawn.height - band / 2 + style.height / 2, text, style);
}

}  // namespace

Image draw_map(const Image& picture, const Geometry& geometry, const Grid& grid, const DrawOptions& options) {
  check(picture, geometry, grid, options);
  const MapState state = summarise(grid).state;
  const ValueRange range = options.range ? *options.range : range_of({grid}, options.scale);
  const double span = range.high > range.low ? range.high - range.low : 1;
  const std::array<Colour, 256>& table = colours(options.colormap);
  const bool both_ways = options.scale == Scale::signed_values;
  const Affine to_cell = geometry.cell_to_image(grid.rows, grid.cols).inverse();
  const int64_t period = std::max<int64_t>(6, std::min(picture.width, picture.height) / 24);

  Image drawn = picture;
  uint8_t* pixel = drawn.rgb.data();
  for (int64_t y = 0; y < drawn.height; ++y) {
    for (int64_t x = 0; x < drawn.width; ++x, pixel += 3) {
      const double centre_x = static_cast<double>(x) + 0.5, centre_y = static_cast<double>(y) + 0.5;
      if (!detail::contains(geometry.seen, centre_x, centre_y)) {
        hatch(pixel, x, y, period);
        continue;
      }
      if (state != MapState::normal) continue;
      const auto [cell_x, cell_y] = to_cell(centre_x, centre_y);
      const double value =
          scaled_value(grid, detail::sample(grid, cell_x, cell_y, options.upsample), options.scale);
      const double place = std::clamp((value - range.low) / span, 0.0, 1.0);
      const double linear = both_ways ? std::abs(2 * place - 1) : place;
      if (linear == 0 && options.blend == Blend::weight) continue;
      const double strength = options.gamma == 1 ? linear : std::pow(linear, options.gamma);
      // The root lets half the weight be seen on a busy photograph; no weight stays no colour.
      const double share = options.opacity * (options.blend == Blend::weight ? std::sqrt(strength) : 1.0);
      const double hue = both_ways ? (1 + std::copysign(strength, place - 0.5)) / 2 : strength;
      const Colour& colour = table[static_cast<size_t>(std::lround(hue * 255))];
      for (size_t c = 0; c < 3; ++c) {
        pixel[c] = static_cast<uint8_t>(std::lround(pixel[c] + share * (colour[c] - pixel[c])));
      }
    }
  }
  if (state == MapState::normal) {
    if (options.grid) draw_grid(drawn, geometry, grid);
    draw_contours(drawn, geometry, grid, options);
  } else {
    draw_state(drawn, state_text(state));
  }
  return drawn;
}

}  // namespace gaze::models
