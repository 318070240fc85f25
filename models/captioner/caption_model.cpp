#include "models/captioner/caption_model.h"

#include <nlohmann/json.hpp>

#include "models/backbone/classifier_file.h"

namespace gaze::models {
namespace {

constexpr double kLargestHalf = 65504;

// Kernels and matrices in half; vectors are few and norm statistics need the range of float32.
torch::Tensor packed(const torch::Tensor& weight) {
  const bool fits =
      weight.dim() >= 2 && weight.numel() > 0 && weight.abs().max().item<double>() <= kLargestHalf;
  return weight.detach()
      .to(fits ? torch::kHalf : torch::kFloat, /*non_blocking=*/false, /*copy=*/true)
      .contiguous();
}

void add(StateDict& weights, const std::string& prefix, const torch::nn::Module& module) {
  for (const auto& [name, weight] : state_dict(module)) {
    if (weight.is_floating_point()) weights.emplace(prefix + name, packed(weight));
  }
}

}  // namespace

ModelFile make_model_file(Backbone& backbone, WordDecoder& decoder, const Tokenizer& tokenizer,
                          const Preprocessing& preprocessing, const nlohmann::json& provenance) {
  ModelFile model;
  model.description = {
      {"format", 1},
      {"task", "caption"},
      {"backbone", describe_backbone(backbone)},
      {"slots", describe_slots(backbone)},
      {"decoder", decoder.describe()},
      {"tokenizer", tokenizer.to_json()},
      {"preprocessing", to_json(preprocessing)},
      {"labels", nlohmann::json::array()},
      {"provenance", provenance},
  };
  // The heads of 1000 classes here are ImageNet's.
  if (backbone.classes() == static_cast<int64_t>(imagenet_labels().size())) {
    model.description["labels"] = imagenet_labels();
  }
  add(model.weights, "backbone.", backbone);
  add(model.weights, "decoder.", decoder);
  return model;
}

}  // namespace gaze::models
