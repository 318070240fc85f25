// Pictures with transparency, and the few operations scenes are painted with. All arithmetic is plain and in
// a fixed order, so that a scene has the same pixels on every machine. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "models/image/image.h"

namespace gaze::models {

// RGBA, 8 bits a channel, colours already multiplied by alpha; rows from the top.
struct Raster {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgba;

  const uint8_t* at(int64_t x, int64_t y) const { return rgba.data() + 4 * (y * width + x); }
  uint8_t* at(int64_t x, int64_t y) { return rgba.data() + 4 * (y * width + x); }
};

// A cut-out photograph, cropped to what is not transparent, at most 384 pixels on its longer side, with its
// halvings.
struct Cutout {
  std::vector<Raster> levels;  // each half the size of the one before
  double coverage = 0;         // share of the box that is opaque

  int64_t width() const { return levels.front().width; }
  int64_t height() const { return levels.front().height; }
};

// Throws FileError for what is not a PNG with something visible on it.
Cutout load_cutout(const std::filesystem::path& path);

// Where a cut-out lies: its centre in picture coordinates, picture pixels per cut-out pixel, and a turn given
// by its cosine and sine, after the flip.
struct Pose {
  double x = 0, y = 0;
  double scale = 1;
  double cosine = 1, sine = 0;
  bool flip = false;
};

// The turn whose half has tangent `t`: exact to the last bit everywhere, unlike the library's sine.
void set_turn(Pose& pose, double t);

// The upright box of the turned cut-out: {width, height} in picture pixels.
std::vector<double> turned_size(const Cutout& cutout, const Pose& pose);

// Light on a cut-out or a picture: value -> (value - 128) * contrast + 128, then times the channel's gain.
struct Light {
  double contrast = 1;
  double gain[3] = {1, 1, 1};
};

// The cut-out in its pose as a layer as large as the picture; edges antialiased.
Raster place(const Cutout& cutout, const Pose& pose, const Light& light, int64_t width, int64_t height);

// Paints the layer over the picture.
void paint(const Raster& layer, Image& picture);

// Darkens the picture by the layer's blurred alpha, moved by (dx, dy) pixels: at most by `strength` (0..1).
void cast_shadow(const Raster& layer, int64_t dx, int64_t dy, int64_t radius, double strength,
                 Image& picture);

void relight(const Light& light, Image& picture);

// One pass of the 3x3 binomial filter.
void soften(Image& picture);

// Mean over areas; `width` and `height` at most the picture's.
Image shrink(const Image& picture, int64_t width, int64_t height);

// The rectangle at (x, y) of the given size, bilinear, to width x height; mirrored if `flip`.
Image cut(const Image& picture, double x, double y, double w, double h, bool flip, int64_t width,
          int64_t height);

}  // namespace gaze::models
