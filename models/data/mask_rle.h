// Masks as COCO's uncompressed run lengths. Includes no torch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/data/scene_geometry.h"

namespace gaze::models {

// Lengths of runs of 0, 1, 0, ... down the columns, left to right; the first may be 0.
std::vector<int64_t> run_lengths(const Mask& mask, int64_t width, int64_t height);

// The mask again. Throws ArgumentError where the runs do not fill it exactly.
Mask mask_from_runs(const std::vector<int64_t>& runs, int64_t width, int64_t height);

}  // namespace gaze::models
