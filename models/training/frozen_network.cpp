#include "models/training/frozen_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/backbone/load_backbone.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

FrozenNetwork of_model_file(const std::string& name, const std::filesystem::path& file) {
  const ModelFile model = read_model_file(file);
  FrozenNetwork network;
  try {
    network.backbone = load_backbone(model);
    network.preprocessing = preprocessing_from_json(model.description.at("preprocessing"));
  } catch (const ArgumentError& error) {
    throw FileError(file.string(), fmt::format("holds no network for this: {}", error.what()),
                    "give the gaze that wrote it, or another model");
  }
  if (network.backbone->name() != name) {
    throw FileError(file.string(), fmt::format("is a model of {}, not of {}", network.backbone->name(), name),
                    fmt::format("name {} as the backbone", network.backbone->name()));
  }
  network.labels = model.description.value("labels", network.labels);
  return network;
}

}  // namespace

FrozenNetwork frozen_network(const std::string& name, const std::filesystem::path& file) {
  FrozenNetwork network;
  if (is_model_file(file)) {
    network = of_model_file(name, file);
  } else {
    network.backbone = load_backbone(name, file);
    network.preprocessing = network.backbone->preprocessing();
  }
  for (auto& parameter : network.backbone->parameters()) parameter.set_requires_grad(false);
  const std::vector<Slot> slots = network.backbone->slots();
  network.filled = std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return !slot->empty(); });
  return network;
}

}  // namespace gaze::models
