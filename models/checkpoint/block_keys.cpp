#include "models/checkpoint/block_keys.h"

#include <fmt/format.h>

#include <array>

namespace gaze::models {
namespace {

using Change = KeyPlan::Change;

constexpr const char* kTimm = "timm";
constexpr const char* kAuthors = "the authors' CBAM";
constexpr const char* kLuuuyi = "luuuyi's CBAM";
constexpr const char* kMoskomule = "moskomule's SE";
constexpr const char* kCadene = "Cadene's SE (timm legacy)";

// timm and luuuyi stack (mean, maximum) before the spatial convolution, gaze and the authors (maximum, mean).
constexpr std::array<BlockKeyRule, 21> kRules = {{
    {kTimm, "se.fc1.", "attn.0.fc1.", Change::none},
    {kTimm, "se.fc2.", "attn.0.fc2.", Change::none},
    {kTimm, "se.conv.weight", "attn.0.conv.weight", Change::none},
    {kTimm, "se.channel.fc1.", "attn.0.channel.fc1.", Change::none},
    {kTimm, "se.channel.fc2.", "attn.0.channel.fc2.", Change::none},
    {kTimm, "se.spatial.conv.conv.weight", "attn.0.spatial.conv.weight", Change::swap_planes},
    {kTimm, "se.spatial.conv.bn.", "attn.0.spatial.bn.", Change::none},
    {kAuthors, "cbam.ChannelGate.mlp.1.", "attn.0.channel.fc1.", Change::to_convolution},
    {kAuthors, "cbam.ChannelGate.mlp.3.", "attn.0.channel.fc2.", Change::to_convolution},
    {kAuthors, "cbam.SpatialGate.spatial.conv.weight", "attn.0.spatial.conv.weight", Change::none},
    {kAuthors, "cbam.SpatialGate.spatial.bn.", "attn.0.spatial.bn.", Change::none},
    {kLuuuyi, "ca.fc.0.weight", "attn.0.channel.fc1.weight", Change::none},
    {kLuuuyi, "ca.fc.2.weight", "attn.0.channel.fc2.weight", Change::none},
    {kLuuuyi, "ca.fc1.weight", "attn.0.channel.fc1.weight", Change::none},
    {kLuuuyi, "ca.fc2.weight", "attn.0.channel.fc2.weight", Change::none},
    {kLuuuyi, "sa.conv1.weight", "attn.0.spatial.conv.weight", Change::swap_planes},
    {kMoskomule, "se.fc.0.", "attn.0.fc1.", Change::to_convolution},
    {kMoskomule, "se.fc.2.", "attn.0.fc2.", Change::to_convolution},
    {kCadene, "se_module.fc1.", "attn.0.fc1.", Change::none},
    {kCadene, "se_module.fc2.", "attn.0.fc2.", Change::none},
    {"ECANet", "eca.conv.weight", "attn.0.conv.weight", Change::none},
}};

// The size of one axis, or 0 where there is no such tensor or axis.
int64_t size_of(const Shapes& tensors, const char* name, size_t axis) {
  const auto found = tensors.find(name);
  return found != tensors.end() && axis < found->second.size() ? found->second[axis] : 0;
}

}  // namespace

bool is_leaf(std::string_view name) {
  return name == "weight" || name == "bias" || name == "running_mean" || name == "running_var" ||
         name == "num_batches_tracked";
}

bool fits(const BlockKeyRule& rule, std::string_view name) {
  if (name.substr(0, rule.from.size()) != rule.from) return false;
  return rule.from.back() == '.' ? is_leaf(name.substr(rule.from.size())) : name == rule.from;
}

const BlockKeyRule* block_key_rule(std::string_view name) {
  for (const BlockKeyRule& rule : kRules) {
    if (fits(rule, name)) return &rule;
  }
  return nullptr;
}

std::string block_spec_of(const Shapes& tensors) {
  if (const int64_t hidden = size_of(tensors, "fc1.weight", 0); hidden > 0)
    return fmt::format("se({}hidden={})", tensors.count("fc1.bias") == 0 ? "bias=false, " : "", hidden);
  if (const int64_t hidden = size_of(tensors, "channel.fc1.weight", 0); hidden > 0) {
    const int64_t kernel = size_of(tensors, "spatial.conv.weight", 3);
    if (kernel == 0) return {};
    return fmt::format("cbam({}hidden={}, kernel={}{})",
                       tensors.count("channel.fc1.bias") == 0 ? "bias=false, " : "", hidden, kernel,
                       tensors.count("spatial.bn.weight") == 0 ? ", norm=false" : "");
  }
  if (const int64_t kernel = size_of(tensors, "conv.weight", 2); kernel > 0)
    return fmt::format("eca(kernel={})", kernel);
  return {};
}

}  // namespace gaze::models
