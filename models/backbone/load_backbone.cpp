#include "models/backbone/load_backbone.h"

#include <fmt/format.h>

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

// The backbone that such tensors belong to, or "" where their names do not tell.
std::string network_of(const StateDict& state) {
  if (state.count("_conv_stem.weight") != 0) return "efficientnet_lite0";
  if (state.count("layer4.0.conv1.weight") == 0) return "";
  const bool bottleneck = state.count("layer1.0.conv3.weight") != 0;
  int64_t blocks = 0;  // of layer3, which no two depths share
  while (state.count(fmt::format("layer3.{}.conv1.weight", blocks)) != 0) ++blocks;
  switch (blocks) {
    case 2:
      return bottleneck ? "" : "resnet18";
    case 6:
      return bottleneck ? "resnet50" : "resnet34";
    case 23:
      return bottleneck ? "resnet101" : "";
    case 36:
      return bottleneck ? "resnet152" : "";
    default:
      return "";
  }
}

[[noreturn]] void fail_fit(const std::string& name, const std::filesystem::path& weights,
                           const StateDict& state, const std::string& difference) {
  const std::string network = network_of(state);
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

}  // namespace

std::shared_ptr<Backbone> load_backbone(const std::string& name, const std::filesystem::path& weights) {
  const StateDict state = read_state_dict(weights);
  const std::shared_ptr<Backbone> network = make_backbone(name, classes_of_head(state));
  try {
    load_state_dict(*network, state);
  } catch (const ArgumentError& error) {
    fail_fit(name, weights, state, error.what());
  }
  network->eval();
  return network;
}

std::shared_ptr<Backbone> load_backbone(const ModelFile& model) {
  const nlohmann::json& description = model.description.at("backbone");
  const StateDict state = with_prefix(model.weights, "backbone.");
  int64_t classes = classes_of_head(state);
  if (description.contains("options") && description["options"].is_object()) {
    const nlohmann::json given = description["options"].value("classes", nlohmann::json(classes));
    check_that(given.is_number_integer(), "backbone", "a whole number of classes", given.dump());
    classes = given;
  }
  const std::shared_ptr<Backbone> network = make_backbone(description.at("name"), classes);
  if (description.contains("stride")) {
    check_that(description["stride"] == network->stride(), "backbone",
               fmt::format("stride {}", network->stride()),
               fmt::format("stride {}", description["stride"].dump()));
  }
  if (model.description.contains("slots")) {
    for (const auto& [slot, spec] : model.description["slots"].items())
      network->fill(slot, spec, Init::paper);
  }
  load_state_dict(*network, state);
  network->eval();
  return network;
}

}  // namespace gaze::models
