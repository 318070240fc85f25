// The weights between two texts as a heat map, both on its axes. Includes no torch and no OpenCV.
#pragma once

#include <string>
#include <vector>

#include "models/overlay/colormap.h"

namespace gaze::models {

struct Alignment {
  std::vector<std::string> source;           // S tokens, from left to right
  std::vector<std::string> target;           // T tokens, from top to bottom
  std::vector<std::vector<double>> weights;  // [T][S], each row a target token's, in [0, 1]
};

struct AlignmentOptions {
  Colormap colormap = Colormap::viridis;
  int cell = 28;  // side of a cell in pixels
};

// An SVG picture: a square a pair, its colour the weight (0 the colour map's low end, 1 its high end), its
// weight in words as its tooltip; source tokens above their columns, long ones turned; target tokens left of
// their rows; a colour bar below. Texts are the viewer's to draw, so that every script has its font. Throws
// ArgumentError for weights of another shape, or that are not in [0, 1].
std::string alignment_svg(const Alignment& alignment, const AlignmentOptions& options = {});

}  // namespace gaze::models
