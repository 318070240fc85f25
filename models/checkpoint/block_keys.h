// The names tensors of attention blocks have in each ecosystem, and what their shapes say of the block.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/checkpoint/key_plan.h"

namespace gaze::models {

// A tensor of a residual block's attention: its name within the residual block there and here, or all but the
// last part of it, with the dot.
struct BlockKeyRule {
  const char* ecosystem;
  std::string_view from;  // "se.fc1."
  std::string_view to;    // "attn.0.fc1."
  KeyPlan::Change change;
};

// "weight", "bias", "running_mean" …: the last part of the names of a layer's or a norm's tensors.
bool is_leaf(std::string_view name);

bool fits(const BlockKeyRule& rule, std::string_view name);

// The rule for the tensor `name` of a residual block ("se.fc1.weight"), or null.
const BlockKeyRule* block_key_rule(std::string_view name);

using Shapes = std::map<std::string, std::vector<int64_t>>;

// The spec of the block that has such tensors by gaze's names ("fc1.weight"): "se(bias=false, hidden=16)";
// empty for those of no block gaze knows.
std::string block_spec_of(const Shapes& tensors);

}  // namespace gaze::models
