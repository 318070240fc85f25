// Attention blocks as timm's ResNets can hold them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/checkpoint/block_keys.h"

namespace gaze::models {

struct SlotContent {
  std::string slot;  // "layer1.0.attn"
  std::string spec;  // "se(hidden=16)"; empty for an empty slot
  int64_t channels = 0;
  Shapes tensors;  // of its first block, by gaze's names: "fc1.weight"
};

struct TimmAttention {
  std::string kind;        // "se", "cbam", "eca"; empty where no slot is filled
  std::string attn_layer;  // Python: "\"se\"", "functools.partial(timm.layers.SEModule, rd_divisor=1)"
  bool caffe = false;      // as legacy_se* have it: se with biases and channels / 16 rounded down
};

// What `attn_layer` makes the blocks of all `slots`. Throws ArgumentError that names the slots it can't make.
TimmAttention timm_attention(const std::vector<SlotContent>& slots);

}  // namespace gaze::models
