// The networks of tests/golden/checkpoint/networks: names and shapes as their ecosystem has them, weights
// from the seed, and the logits the original code computed.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/checkpoint/summary.h"
#include "tests/support/golden_weights.h"

namespace gaze::test {

// Those gaze computes. timm_legacy_seresnet18 is there too, for its names.
inline const std::vector<std::string>& golden_networks() {
  static const std::vector<std::string> names = {
      "timm_se_resnet18",      "timm_se_resnet50",       "timm_cbam_resnet18",   "timm_cbam_resnet50",
      "timm_eca_resnet50",     "timm_legacy_seresnet50", "luuuyi_cbam_resnet18", "moskomule_se_resnet18",
      "authors_cbam_resnet18", "authors_cbam_resnet50"};
  return names;
}

inline nlohmann::json golden_network_file(const std::string& name) {
  std::ifstream file(std::string(GAZE_SOURCE_DIR "/tests/golden/checkpoint/networks/") + name + ".json");
  return nlohmann::json::parse(file);
}

// The shape of a tensor of the file: "64x3x7x7", "" for a scalar.
inline std::vector<int64_t> shape_of(const std::string& text) {
  std::vector<int64_t> shape;
  for (size_t at = 0; at < text.size();) {
    size_t used = 0;
    shape.push_back(std::stoll(text.substr(at), &used));
    at += used + 1;
  }
  return shape;
}

// Names and shapes as read_state_dict gives them: without "module.".
inline models::TensorSummaries golden_summaries(const nlohmann::json& golden) {
  const size_t prefix = golden.at("prefix").get<std::string>().size();
  models::TensorSummaries tensors;
  for (const auto& [name, shape] : golden.at("state").items())
    tensors[name.substr(prefix)] = {at::kFloat, shape_of(shape)};
  return tensors;
}

// With the prefix, as the file would have it.
inline models::StateDict golden_state(const nlohmann::json& golden) {
  std::map<std::string, NormStatistics> norms;
  for (const auto& [layer, pair] : golden.at("norms").items()) norms[layer] = {pair.at(0), pair.at(1)};
  const std::string prefix = golden.at("prefix");
  models::StateDict state;
  for (const auto& [name, tensor] : golden_summaries(golden))
    state[prefix + name] = golden_tensor(name, tensor.shape, golden.at("seed"), norms);
  return state;
}

}  // namespace gaze::test
