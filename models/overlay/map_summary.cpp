#include "models/overlay/map_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaze::models {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kFlat = 1e-5;   // relative spread below which float32 weights of a softmax are all alike
constexpr double kLeastTop = 2;  // a lift of less than this never gets the last colour

}  // namespace

MapSummary summarise(const Grid& grid) {
  MapSummary summary;
  const auto finite = [](float value) { return std::isfinite(value); };
  if (grid.values.empty() || !std::all_of(grid.values.begin(), grid.values.end(), finite)) {
    return {MapState::not_finite, kNaN, kNaN, kNaN, kNaN, kNaN};
  }
  const auto [least, most] = std::minmax_element(grid.values.begin(), grid.values.end());
  summary.min = *least;
  summary.max = *most;
  double sum = 0, magnitude = 0;
  for (const float value : grid.values) {
    sum += value;
    magnitude += std::abs(value);
  }
  if (magnitude > 0) summary.against = (magnitude - sum) / 2 / magnitude;
  if (summary.min < 0 || sum <= 0) {
    summary.entropy = summary.peak_lift = kNaN;
  } else {
    for (const float value : grid.values) {
      const double share = value / sum;
      if (share > 0) summary.entropy -= share * std::log(share);
    }
    summary.peak_lift = summary.max / sum * static_cast<double>(grid.values.size());
  }
  if (summary.min == 0 && summary.max == 0) {
    summary.state = MapState::zero;
  } else if (summary.max - summary.min <= kFlat * std::max(std::abs(summary.max), std::abs(summary.min))) {
    summary.state = MapState::flat;
  }
  return summary;
}

std::string state_text(MapState state) {
  switch (state) {
    case MapState::normal:
      return "";
    case MapState::flat:
      return "flat map: every cell alike";
    case MapState::zero:
      return "empty map: every cell is zero";
    case MapState::not_finite:
      return "no map: not a number";
  }
  return "";
}

std::string state_name(MapState state) {
  switch (state) {
    case MapState::normal:
      return "normal";
    case MapState::flat:
      return "flat";
    case MapState::zero:
      return "zero";
    case MapState::not_finite:
      return "not_finite";
  }
  return "";
}

double scaled_value(const Grid& grid, double value, Scale scale) {
  return scale == Scale::lift ? value * static_cast<double>(grid.values.size()) : value;
}

ValueRange range_of(const std::vector<Grid>& grids, Scale scale) {
  if (scale == Scale::fixed) return {0, 1};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Grid& grid : grids) {
    const MapSummary summary = summarise(grid);
    if (summary.state == MapState::not_finite) continue;
    low = std::min(low, scaled_value(grid, summary.min, scale));
    high = std::max(high, scaled_value(grid, summary.max, scale));
  }
  if (scale == Scale::lift) return {1, std::max(high, kLeastTop)};
  if (low > high) return {};
  if (scale != Scale::signed_values) return {low, high};
  const double most = std::max(std::abs(low), std::abs(high));
  return {-most, most};
}

}  // namespace gaze::models
