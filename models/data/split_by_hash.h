// Which split a text belongs to. Includes no torch.
#pragma once

#include <string>

#include "models/data/tables.h"

namespace gaze::models {

// The split of a text by its FNV-1a hash (Fowler, Noll, Vo; 64 bits), whatever the seed, so that no two
// splits share a text: eight tenths of all texts are train, one is val, one test.
Split split_by_hash(const std::string& text);

}  // namespace gaze::models
