// From spec strings to attention blocks, and what there is to know of each kind of block.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "modules/attention/block.h"
#include "modules/attention/slot_place.h"
#include "modules/attention/spec.h"

namespace gaze {

// Makes the block for a slot. An option init=identity|paper in the spec overrides
// `init`. Throws ArgumentError for an unknown name or option, listing the valid ones, and for values that do
// not fit. "mhsa" is mha, "non_local" is nl.
std::shared_ptr<AttentionBlock> make_block(const BlockSpec& spec, const SlotPlace& place,
                                           Init init = Init::paper);

std::vector<std::string> block_names();

struct BlockDescription {
  BlockCard card;
  std::vector<OptionDescription> options;
  int64_t parameters = 0;  // of the block that card.example makes at described_place
  int64_t macs = 0;        // the same, for one picture of kDescribedSide x kDescribedSide cells
};

// Where the table of blocks counts: a slot of ResNet-18's third stage, for a picture of 224 x 224.
SlotPlace described_place();
inline constexpr int64_t kDescribedSide = 14;

// Every kind of block, in the order of block_names.
std::vector<BlockDescription> describe_blocks();

}  // namespace gaze
