// Dates drawn by seed, to learn their ISO form from. Includes no torch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/data/dates.h"
#include "models/data/tables.h"

namespace gaze::models {

struct DatePairOptions {
  Split split = Split::train;
  uint64_t seed = 1;
  int64_t count = 10000;
  int64_t first_year = 1900, last_year = 2099;
};

// `count` pairs of date_forms() and dates from first_year to last_year, each drawn evenly among those whose
// source is in the split by split_by_hash(): splits never share a date in the same form. A pair may come
// again. The i-th pair depends on seed, split and i alone. Throws ArgumentError for a negative count and for
// years outside 1 .. 9999 or that end before they begin.
std::vector<TextPair> date_pairs(const DatePairOptions& options);

}  // namespace gaze::models
