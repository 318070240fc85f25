#include "apps/gaze/network_source.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "models/backbone/load_backbone.h"
#include "modules/core/error.h"

namespace gaze::apps {

void add_network_options(CLI::App& command, NetworkSource& source) {
  command.add_option("--model", source.model, "model file; of a caption model its backbone");
  command.add_option("--backbone", source.backbone, "your own network's name; needs --weights")
      ->check(CLI::IsMember(models::backbone_names()));
  command.add_option("--weights", source.weights, "your own network's weights: .pth or .safetensors");
}

void check(const NetworkSource& source) {
  const bool own = !source.backbone.empty() || !source.weights.empty();
  if (source.model.empty() == !own) throw UsageError("give either --model, or --backbone with --weights");
  if (own && (source.backbone.empty() || source.weights.empty()))
    throw UsageError("--backbone and --weights go together: the network's name and the file of its weights");
}

LoadedNetwork load_network(const NetworkSource& source) {
  LoadedNetwork loaded;
  if (source.model.empty()) {
    loaded.network = models::load_backbone(source.backbone, source.weights);
    loaded.preprocessing = loaded.network->preprocessing();
    return loaded;
  }
  loaded.model = models::read_model_file(source.model);
  try {
    loaded.network = models::load_backbone(*loaded.model);
    loaded.preprocessing = models::preprocessing_from_json(loaded.model->description.at("preprocessing"));
  } catch (const ArgumentError& error) {
    throw FileError(source.model.string(), fmt::format("holds no network for this: {}", error.what()),
                    "give the gaze that wrote it, or another model");
  }
  loaded.labels = loaded.model->description.value("labels", loaded.labels);
  return loaded;
}

}  // namespace gaze::apps
