// What a block is told of the place it will stand in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gaze {

// A stage whose output is there when the slot runs.
struct StageWidth {
  std::string name;      // "layer2"
  int64_t channels = 0;  // of its output
  int64_t step = 0;      // pixels of the network's input from one of its cells to the next; 0: not known
};

struct SlotPlace {
  std::string name;      // "layer3.5.attn"
  int64_t channels = 0;  // C of what passes through
  int64_t stride = 1;    // of the convolution that stands there unless the slot is filled ("conv" slots)
  std::vector<StageWidth> earlier;  // stages before the slot's own, in the order the data takes
  int64_t step = 0;                 // pixels of the network's input from one cell to the next; 0: not known
};

}  // namespace gaze
