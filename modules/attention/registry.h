// From spec strings to attention blocks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "modules/attention/block.h"
#include "modules/attention/slot_place.h"
#include "modules/attention/spec.h"

namespace gaze {

// Makes the block for a slot. An option init=identity|paper in the spec overrides
// `init`. Throws ArgumentError for an unknown name or option, listing the valid ones, and for values that do
// not fit.
std::shared_ptr<AttentionBlock> make_block(const BlockSpec& spec, const SlotPlace& place,
                                           Init init = Init::paper);

std::vector<std::string> block_names();

}  // namespace gaze
