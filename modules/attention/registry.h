// Spec strings -> attention blocks: "se", "cbam(reduction=16, kernel=7)", "se+cbam", "none".
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "modules/attention/block.h"

namespace gaze {

// One parsed module of a spec string.
struct BlockSpec {
  std::string name;
  std::map<std::string, std::string> options;
};

// "se+cbam(kernel=3)" -> two entries; "none" and "" -> none. Throws ArgumentError on bad syntax.
std::vector<BlockSpec> parse_block_specs(std::string_view text);

// Makes the block for a slot with `channels` channels. `init` is overridden by an option init=identity|paper in the spec.
// Throws ArgumentError for an unknown name or option, listing the valid ones.
std::shared_ptr<AttentionBlock> make_block(const BlockSpec& spec, int64_t channels, Init init = Init::paper);

std::vector<std::string> block_names();

}  // namespace gaze
