#include "models/backbone/backbone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <torch/nn/functional/dropout.h>

#include <algorithm>
#include <numeric>

#include "models/backbone/efficientnet_lite.h"
#include "models/backbone/resnet.h"
#include "modules/attention/registry.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

// Insertions, deletions and substitutions that make `name` match the glob: "*" stands for any run, "?" and
// "[..]" for any letter, at no cost.
size_t glob_distance(const std::string& pattern, const std::string& name) {
  std::vector<size_t> row(name.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char p = pattern[i];
    const size_t closing = p == '[' ? pattern.find(']', i) : std::string::npos;
    if (closing != std::string::npos) i = closing;
    const bool any = p == '?' || closing != std::string::npos;
    const size_t absent = p == '*' ? 0 : 1;
    size_t diagonal = row[0];
    row[0] += absent;
    for (size_t j = 1; j <= name.size(); ++j) {
      const size_t substitute = diagonal + (any || p == '*' || p == name[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + absent, row[j - 1] + (p == '*' ? 0 : 1)});
    }
  }
  return row[name.size()];
}

[[noreturn]] void fail_no_slot(const std::string& network, const std::string& pattern,
                               std::vector<std::string> names) {
  const size_t count = names.size();
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return glob_distance(pattern, a) < glob_distance(pattern, b);
  });
  names.resize(std::min<size_t>(count, 3));
  throw ArgumentError(fmt::format("[backbone] no slot of {} matches \"{}\"; nearest of its {}: {}", network,
                                  pattern, count, fmt::join(names, ", ")));
}

}  // namespace

torch::Tensor Backbone::forward(const torch::Tensor& x) {
  const torch::Tensor pooled = stages(x).back().value.mean({2, 3});   // [B, C]
  return classify(torch::dropout(pooled, dropout(), is_training()));  // [B, K]
}

torch::Tensor Backbone::class_evidence(const torch::Tensor& x) {
  const torch::Tensor cells = stages(x).back().value.permute({0, 2, 3, 1});  // [B, h, w, C]
  return classify(cells).permute({0, 3, 1, 2});                              // [B, K, h, w]
}

std::vector<std::string> Backbone::fill(const std::string& pattern, const std::string& spec, Init init) {
  const std::vector<BlockSpec> specs = parse_block_specs(spec);
  std::vector<std::string> all, matching;
  std::vector<std::pair<Slot, std::shared_ptr<AttentionBlock>>> additions;
  for (const Slot& slot : slots()) {
    all.push_back(slot->full_name());
    if (fnmatch(pattern.c_str(), all.back().c_str(), 0) != 0) continue;
    matching.push_back(all.back());
    for (const BlockSpec& block : specs)
      additions.emplace_back(slot, make_block(block, slot->place(), init));
  }
  if (matching.empty()) fail_no_slot(name(), pattern, all);
  const torch::Tensor like = parameters().front();
  for (auto& [slot, block] : additions) {
    block->to(like.device(), like.scalar_type());
    block->train(is_training());
    slot->add(block);
  }
  return matching;
}

std::vector<std::string> backbone_names() {
  std::vector<std::string> names;
  for (const int64_t depth : resnet_depths()) names.push_back(fmt::format("resnet{}", depth));
  names.emplace_back("efficientnet_lite0");
  return names;
}

std::shared_ptr<Backbone> make_backbone(const std::string& name, int64_t classes) {
  check_that(classes >= 1, "backbone", "classes >= 1", fmt::format("classes {}", classes));
  for (const int64_t depth : resnet_depths()) {
    if (name == fmt::format("resnet{}", depth))
      return std::make_shared<ResNet>(ResNetOptions{depth, classes});
  }
  if (name == "efficientnet_lite0")
    return std::make_shared<EfficientNetLite>(EfficientNetLiteOptions{classes});
  fail_unknown("backbone", "network", name, backbone_names());
}

}  // namespace gaze::models
