// Maps drawn on the person's own picture. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/image/geometry.h"
#include "models/image/image.h"
#include "models/overlay/colormap.h"
#include "models/overlay/map_summary.h"

namespace gaze::models {

enum class Blend {
  weight,    // the more weight, the more colour; pixels at the low end of the scale stay bit-identical
  constant,  // every pixel that the model saw gets the same share of colour
};

enum class Upsample {
  bilinear,  // half-pixel centres, border cells reach out to the edge
  cells,     // every cell a rectangle of one colour
};

struct DrawOptions {
  Colormap colormap = Colormap::viridis;
  Blend blend = Blend::weight;
  double opacity = 0.8;  // largest share of colour, 0..1
  Upsample upsample = Upsample::bilinear;
  Scale scale = Scale::lift;
  std::optional<ValueRange> range;  // in units of `scale`; by default range_of() this one map
  // Lines around the smallest regions, of the map as it is drawn, that hold these shares of its mass (values
  // below zero count as none): {0.5, 0.8}. They need no colours to be read.
  std::vector<double> contours;
  bool grid = false;  // the borders between cells, as thin lines
  double gamma = 1;   // strength = place on the scale ^ gamma; below 1 shows faint attention
};

// `picture`, at its own size, with `grid` drawn on it: each pixel's centre is taken back through
// geometry.cell_to_image(rows, cols) to the place on the map whose value it shows. Its strength, from 0 at
// the low end of the scale to 1 at the high end, picks the colour (of signed values: from 0 at zero to 1 at
// either end, with colours from the middle outwards); with Blend::weight the colour's share is opacity *
// sqrt(strength). What lies outside geometry.seen is hatched. A map that shows nothing (flat, zero,
// not finite) leaves the picture as it is, with a line of text that says so.
// Throws ArgumentError: `grid` is empty or does not have rows * cols values, geometry is of another picture,
// options out of range.
Image draw_map(const Image& picture, const Geometry& geometry, const Grid& grid,
               const DrawOptions& options = {});

// Text, and numbers under a colour bar, for the foot of a drawn picture.
struct Legend {
  std::string title;   // "dog"
  std::string detail;  // "93 %, peak 4.2x"
  bool bar = true;
  ValueRange range;
  Scale scale = Scale::lift;
  Colormap colormap = Colormap::viridis;
};

// `drawn` unchanged, with a white foot of text and colour bar; a narrow picture gets white to its right.
Image with_legend(const Image& drawn, const Legend& legend);

// One word of a caption for the strip.
struct StripWord {
  std::string text;
  double probability = 0;  // 0..1
  Grid grid;
};

// The picture, then the picture once for each word with its map, under each its word, probability and peak
// lift, in rows; the caption above, one colour bar for all below. Sizes are in pixels of the strip.
struct StripOptions {
  DrawOptions draw;
  int64_t tile = 320;       // long side of a tile
  int64_t max_columns = 5;  // tiles in a row
};
Image draw_strip(const Image& picture, const Geometry& geometry, const std::string& caption,
                 const std::vector<StripWord>& words, const StripOptions& options = {});

}  // namespace gaze::models
