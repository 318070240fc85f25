// What a map's numbers say as a whole, and the scales they are shown on. Includes no torch and no OpenCV.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gaze::models {

// A map's raw grid: values[row * cols + col].
struct Grid {
  int64_t rows = 0, cols = 0;
  std::vector<float> values;
};

enum class MapState {
  normal,
  flat,        // every cell alike: nothing to show
  zero,        // every cell zero
  not_finite,  // NaN or infinite somewhere
};

struct MapSummary {
  MapState state = MapState::normal;
  double min = 0, max = 0;
  double entropy = 0;  // of the values as shares of their sum, natural logarithm; NaN if a value is negative
                       // or all are zero
  double peak_lift = 0;  // largest share times the number of cells: 1 is uniform; NaN likewise
  double against = 0;    // share of the magnitude that is below zero
};

MapSummary summarise(const Grid& grid);

// "flat map: every cell alike"; empty for a normal one.
std::string state_text(MapState state);
// "normal", "flat", "zero", "not_finite"
std::string state_name(MapState state);

enum class Scale {
  lift,   // weight times number of cells: 1 is what a model that looks everywhere alike would give
  map,    // from the map's own smallest to its own largest value
  fixed,  // from 0 to 1
  // Signed values: zero in the middle, as much below it as above. Strength is the distance from zero.
  signed_values,
};

// Values that get the first and the last colour.
struct ValueRange {
  double low = 0, high = 1;
};

// A cell's value in units of `scale`.
double scaled_value(const Grid& grid, double value, Scale scale);

// The range that shows all of `grids` comparably: lift from 1 (uniform) to the largest lift, at least 2; map
// from the smallest to the largest value; fixed 0 to 1; signed values from minus to plus the largest
// magnitude. Maps that are not finite do not count.
ValueRange range_of(const std::vector<Grid>& grids, Scale scale);

}  // namespace gaze::models
