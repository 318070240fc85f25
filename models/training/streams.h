// What the random numbers of a training run are for: the second part of their key, after the seed. Includes
// no torch.
#pragma once

#include <cstdint>

namespace gaze::models {

enum TrainingStream : uint64_t {
  kShuffle = 101,     // order of an epoch
  kUse = 102,         // how a step uses its samples
  kTorch = 103,       // LibTorch's own generator: dropout, noise
  kCells = 104,       // which cells of the bare ground are learned
  kPicture = 106,     // crop and flip of a picture
  kValidation = 107,  // which pairs are kept to validate on
  kPool = 109,        // what a numbered picture of the crops' pool is
};

}  // namespace gaze::models
