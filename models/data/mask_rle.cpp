#include "models/data/mask_rle.h"

#include <fmt/format.h>

#include <algorithm>

#include "modules/core/error.h"

namespace gaze::models {

std::vector<int64_t> run_lengths(const Mask& mask, int64_t width, int64_t height) {
  std::vector<int64_t> runs;
  uint8_t value = 0;
  int64_t length = 0;
  for (int64_t x = 0; x < width; ++x) {
    for (int64_t y = 0; y < height; ++y) {
      const uint8_t here = mask[static_cast<size_t>(y * width + x)] ? 1 : 0;
      if (here != value) {
        runs.push_back(length);
        length = 0;
        value = here;
      }
      ++length;
    }
  }
  runs.push_back(length);
  return runs;
}

Mask mask_from_runs(const std::vector<int64_t>& runs, int64_t width, int64_t height) {
  const int64_t pixels = width * height;
  Mask mask(static_cast<size_t>(pixels), 0);
  int64_t at = 0;
  uint8_t value = 0;
  for (int64_t run : runs) {
    if (run < 0 || run > pixels - at) {
      throw ArgumentError(
          fmt::format("[mask] expected runs that fill {} pixels; got a run of {} at {}", pixels, run, at));
    }
    for (int64_t end = at + run; at < end; ++at)
      mask[static_cast<size_t>(at % height * width + at / height)] = value;
    value ^= 1;
  }
  if (at != pixels)
    throw ArgumentError(fmt::format("[mask] expected runs that fill {} pixels; got {}", pixels, at));
  return mask;
}

}  // namespace gaze::models
