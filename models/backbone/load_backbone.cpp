#include "models/backbone/load_backbone.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "models/checkpoint/key_map.h"
#include "modules/attention/registry.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

bool any_starts_with(const StateDict& state, const std::string& prefix) {
  const auto found = state.lower_bound(prefix);
  return found != state.end() && found->first.compare(0, prefix.size(), prefix) == 0;
}

int64_t classes_of_head(const StateDict& state) {
  for (const char* key : {"fc.weight", "_fc.weight"}) {
    const auto head = state.find(key);
    if (head != state.end() && head->second.dim() == 2 && head->second.size(0) >= 1)
      return head->second.size(0);
  }
  return 1000;
}

// The network that the tensors are of by their names, whoever gave them; nothing where they do not tell.
std::optional<MappedNetwork> recognised(const StateDict& state) {
  try {
    return map_keys(state);
  } catch (const ArgumentError&) {
    return std::nullopt;
  }
}

[[noreturn]] void fail_fit(const std::string& name, const std::filesystem::path& weights,
                           const StateDict& state, const std::string& network,
                           const std::string& difference) {
  if (any_starts_with(state, "backbone.")) {
    throw FileError(weights.string(), fmt::format("does not hold the weights of {} but a whole model", name),
                    "give it as the model, not as weights");
  }
  if (!network.empty() && network != name) {
    throw FileError(weights.string(), fmt::format("holds the weights of {}, not of {}", network, name),
                    fmt::format("name {} as the backbone", network));
  }
  throw FileError(weights.string(), fmt::format("does not fit {}: {}", name, difference),
                  fmt::format("give weights of {} with the names of {}", name,
                              name == "efficientnet_lite0" ? "efficientnet-lite-pytorch" : "torchvision"));
}

// {"layer4.2.attn": "se"}. The file has no weights for the layers that filled slots stand in for.
void fill_slots(Backbone& network, const std::map<std::string, std::string>& specs) {
  std::vector<Slot> slots = network.slots();
  std::map<std::string, Slot> by_name;
  for (const Slot& slot : slots) by_name.emplace(slot->full_name(), slot);
  for (const auto& [name, spec] : specs) {
    const auto found = by_name.find(name);
    check_that(found != by_name.end(), "backbone", "the name of a slot", name);
    std::vector<std::shared_ptr<AttentionBlock>> blocks;
    for (const BlockSpec& one : parse_block_specs(spec))
      blocks.push_back(make_block(one, found->second->place(), Init::paper));
    found->second->set(std::move(blocks));
  }
  for (Slot& slot : slots) slot->lose_layer();
}

std::shared_ptr<Backbone> load_mapped(const MappedNetwork& mapped) {
  std::shared_ptr<Backbone> network =
      make_backbone(mapped.plan.backbone, backbone_options_from_json(mapped.plan.options));
  fill_slots(*network, mapped.plan.slots);
  load_state_dict(*network, mapped.weights);
  return network;
}

}  // namespace

std::shared_ptr<Backbone> load_backbone(const std::string& name, const std::filesystem::path& weights) {
  const StateDict state = read_state_dict(weights);
  std::shared_ptr<Backbone> network = make_backbone(name, classes_of_head(state));
  try {
    load_state_dict(*network, state);
  } catch (const ArgumentError& error) {
    const std::optional<MappedNetwork> other = recognised(state);
    const std::string known = other ? other->plan.backbone : "";
    if (known != name) fail_fit(name, weights, state, known, error.what());
    try {
      network = load_mapped(*other);
    } catch (const ArgumentError& mismatch) {
      fail_fit(name, weights, state, known, mismatch.what());
    }
  }
  network->eval();
  return network;
}

std::shared_ptr<Backbone> load_backbone(const ModelFile& model) {
  check_that(model.description.contains("backbone"), "backbone", "a model with a network for pictures",
             fmt::format("one of the task {}", model.description.value("task", "unknown")));
  const nlohmann::json& description = model.description.at("backbone");
  const StateDict state = with_prefix(model.weights, "backbone.");
  nlohmann::json told = nlohmann::json::object();
  if (description.contains("options") && description["options"].is_object()) told = description["options"];
  if (!told.contains("classes")) told["classes"] = classes_of_head(state);
  const std::shared_ptr<Backbone> network =
      make_backbone(description.at("name"), backbone_options_from_json(told));
  if (description.contains("stride")) {
    check_that(description["stride"] == network->stride(), "backbone",
               fmt::format("stride {}", network->stride()),
               fmt::format("stride {}", description["stride"].dump()));
  }
  if (model.description.contains("slots")) fill_slots(*network, model.description["slots"]);
  load_state_dict(*network, state);
  network->eval();
  return network;
}

}  // namespace gaze::models
