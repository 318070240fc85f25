#include "models/backbone/classifier_file.h"

#include <nlohmann/json.hpp>

namespace gaze::models {

nlohmann::json describe_backbone(const Backbone& network) {
  return {{"name", network.name()}, {"stride", network.stride()}, {"options", to_json(network.options())}};
}

nlohmann::json describe_slots(Backbone& network) {
  nlohmann::json slots = nlohmann::json::object();
  for (const Slot& slot : network.slots()) {
    if (!slot->empty()) slots[slot->full_name()] = slot->spec();
  }
  return slots;
}

ModelFile classifier_file(Backbone& network, const Preprocessing& preprocessing,
                          const std::vector<std::string>& labels, const nlohmann::json& provenance) {
  ModelFile model;
  model.description = {{"format", 1},
                       {"task", "classify"},
                       {"backbone", describe_backbone(network)},
                       {"slots", describe_slots(network)},
                       {"preprocessing", to_json(preprocessing)},
                       {"labels", labels},
                       {"provenance", provenance}};
  if (labels.empty() && network.classes() == static_cast<int64_t>(imagenet_labels().size()))
    model.description["labels"] = imagenet_labels();
  for (const auto& [name, weight] : state_dict(network)) {
    if (weight.is_floating_point()) model.weights.emplace("backbone." + name, weight);
  }
  return model;
}

}  // namespace gaze::models
