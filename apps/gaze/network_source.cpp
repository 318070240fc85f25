#include "apps/gaze/network_source.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "models/backbone/load_backbone.h"
#include "modules/core/error.h"

namespace gaze::apps {

namespace {

void add_own_network(CLI::App& command, NetworkSource& source) {
  command.add_option("--backbone", source.backbone, "your own network's name; needs --weights")
      ->check(CLI::IsMember(models::backbone_names()));
  command.add_option("--weights", source.weights, "your own network's weights: .pth or .safetensors");
}

}  // namespace

void add_network_options(CLI::App& command, NetworkSource& source) {
  command.add_option("--model", source.model, "model file; of a caption model its backbone");
  add_own_network(command, source);
}

void add_captioner_options(CLI::App& command, NetworkSource& source) {
  command.add_option("--model", source.model, "caption model; the bundled one unless given");
  add_own_network(command, source);
}

void check_own(const NetworkSource& source) {
  if (source.backbone.empty() != source.weights.empty())
    throw UsageError("--backbone and --weights go together: the network's name and the file of its weights");
}

void check(const NetworkSource& source) {
  const bool own = !source.backbone.empty() || !source.weights.empty();
  if (source.model.empty() == !own) throw UsageError("give either --model, or --backbone with --weights");
  check_own(source);
}

std::filesystem::path captioner_file(const NetworkSource& source) {
  return source.model.empty() ? bundled_model("lite0-cbam-caption.safetensors") : source.model;
}

models::Captioner load_captioner(const NetworkSource& source) {
  models::Captioner captioner = models::Captioner::load(captioner_file(source));
  if (!source.backbone.empty())
    captioner.use_backbone(models::load_backbone(source.backbone, source.weights));
  return captioner;
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
