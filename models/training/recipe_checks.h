// The checks that recipes share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "modules/core/check.h"

namespace gaze::models::detail {

// low <= value <= high, else ArgumentError "[op] expected NAME low to high; got NAME value".
inline void check_range(const char* op, const char* name, double value, double low, double high) {
  check_that(value >= low && value <= high, op, fmt::format("{} {} to {}", name, low, high),
             fmt::format("{} {}", name, value));
}

// One of the known names, else ArgumentError that lists them.
inline void check_name(const char* op, const char* what, const std::string& name,
                       const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) == known.end()) fail_unknown(op, what, name, known);
}

}  // namespace gaze::models::detail
