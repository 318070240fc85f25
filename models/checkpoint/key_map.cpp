#include "models/checkpoint/key_map.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <utility>

#include "models/checkpoint/file_reader.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using Change = KeyPlan::Change;
using Move = KeyPlan::Move;

}  // namespace

at::Tensor changed(const at::Tensor& tensor, Change change) {
  switch (change) {
    case Change::swap_planes:
      return tensor.flip({1});  // [1, 2, k, k]
    case Change::to_convolution:
      return tensor.unsqueeze(-1).unsqueeze(-1);  // [out, in, 1, 1]
    default:
      return tensor;
  }
}

MappedNetwork map_keys(const StateDict& state) {
  TensorSummaries tensors;
  for (const auto& [name, tensor] : state) tensors[name] = {tensor.scalar_type(), tensor.sizes().vec()};
  MappedNetwork mapped{plan_keys(tensors), {}};
  for (const Move& move : mapped.plan.moves) {
    const bool first = mapped.weights.emplace(move.to, changed(state.at(move.from), move.change)).second;
    check_that(first, "key_map", "every tensor once",
               fmt::format("two for {}, one of them {}", move.to, shown(move.from)));
  }
  return mapped;
}

MappedNetwork read_network(const std::filesystem::path& path) {
  if (is_model_file(path))
    throw FileError(path.string(), "is a model file of gaze, not a checkpoint", "give it as the model");
  try {
    return map_keys(read_state_dict(path));
  } catch (const ArgumentError& error) {
    throw FileError(path.string(), fmt::format("holds no network gaze knows: {}", error.what()),
                    "see its names with gaze inspect --keys");
  }
}

ModelFile model_of(const MappedNetwork& mapped) {
  ModelFile model;
  model.description = {{"format", 1},
                       {"task", "classify"},
                       {"backbone", {{"name", mapped.plan.backbone}, {"options", mapped.plan.options}}},
                       {"slots", mapped.plan.slots},
                       {"preprocessing", nlohmann::json::object()}};
  for (const auto& [name, tensor] : mapped.weights) {
    if (!tensor.is_floating_point()) continue;
    const at::ScalarType dtype = tensor.scalar_type() == at::kHalf ? at::kHalf : at::kFloat;
    model.weights.emplace("backbone." + name, tensor.to(dtype));
  }
  return model;
}

std::string report_text(const KeyPlan& plan) {
  std::vector<std::string> renamed, swapped, reshaped;
  for (const Move& move : plan.moves) {
    if (move.from != move.to) renamed.push_back(fmt::format("{} -> {}", shown(move.from), move.to));
    if (move.change == Change::swap_planes) swapped.push_back(move.to);
    if (move.change == Change::to_convolution) reshaped.push_back(move.to);
  }
  std::string text = fmt::format("recognised: {}", plan.network());
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("\n{} ({}): {}", what, names.size(), some_of(names));
  };
  add("renamed", renamed);
  add("planes swapped", swapped);
  add("reshaped to 1x1 convolutions", reshaped);
  std::vector<std::string> dropped;
  for (const std::string& name : plan.dropped) dropped.push_back(shown(name));
  add("dropped", dropped);
  return text;
}

nlohmann::json report_json(const KeyPlan& plan) {
  nlohmann::json json = {{"recognised", plan.network()},
                         {"backbone", plan.backbone},
                         {"options", plan.options},
                         {"slots", plan.slots},
                         {"renamed", nlohmann::json::object()},
                         {"swapped", nlohmann::json::array()},
                         {"reshaped", nlohmann::json::array()},
                         {"dropped", plan.dropped}};
  for (const Move& move : plan.moves) {
    if (move.from != move.to) json["renamed"][move.from] = move.to;
    if (move.change == Change::swap_planes) json["swapped"].push_back(move.to);
    if (move.change == Change::to_convolution) json["reshaped"].push_back(move.to);
  }
  return json;
}

}  // namespace gaze::models
