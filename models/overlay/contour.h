// Lines around the places that hold most of a map. Includes no torch and no OpenCV.
#pragma once

#include <array>
#include <vector>

#include "models/image/geometry.h"
#include "models/overlay/overlay.h"

namespace gaze::models::detail {

// The value that the highest-density region with each share of the mass reaches down to: the largest one so
// that the values from it up hold at least that share of the sum. Values below zero count as zero; infinity
// where none is above.
std::vector<double> mass_levels(std::vector<float> values, const std::vector<double>& shares);

// Ends (x, y) of a straight piece of a line, in picture coordinates.
using Segment = std::array<double, 4>;

// For each share where the map, as it is drawn on the part of the picture that was seen, crosses its level
// (marching squares on a lattice of at most 1024 points a side, joined by straight lines).
std::vector<std::vector<Segment>> mass_contours(const Geometry& geometry, const Grid& grid, Upsample upsample,
                                                const std::vector<double>& shares);

// White on dark, `width` pixels wide, without steps.
void draw_segments(Image& picture, const std::vector<Segment>& segments, double width);

}  // namespace gaze::models::detail
