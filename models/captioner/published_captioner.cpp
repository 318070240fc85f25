#include "models/captioner/published_captioner.h"

#include <ATen/ATen.h>

#include <functional>
#include <vector>

namespace gaze::models {

std::optional<PublishedCaptioner> published_captioner(const StateDict& state) {
  // A format, a line.
  static const std::vector<std::function<std::optional<PublishedCaptioner>(const StateDict&)>> formats = {
      sgrvinod_captioner,
      catr_captioner,
  };
  for (const auto& format : formats) {
    std::optional<PublishedCaptioner> captioner = format(state);
    if (captioner) return captioner;
  }
  return std::nullopt;
}

ModelFile model_of(const PublishedCaptioner& captioner, const Tokenizer& tokenizer) {
  ModelFile model;
  model.description = {
      {"format", 1},
      {"task", "caption"},
      {"backbone",
       {{"name", captioner.backbone}, {"stride", captioner.stride}, {"options", captioner.options}}},
      {"slots", nlohmann::json::object()},
      {"decoder", captioner.decoder},
      {"tokenizer", tokenizer.to_json()},
      {"preprocessing", to_json(captioner.preprocessing)},
      {"labels", nlohmann::json::array()},
      {"provenance", nlohmann::json::object()},
  };
  for (const auto& [name, tensor] : captioner.weights) {
    if (!tensor.is_floating_point()) continue;  // counters of batches
    const at::ScalarType dtype = tensor.scalar_type() == at::kHalf ? at::kHalf : at::kFloat;
    model.weights.emplace(name, tensor.to(dtype).contiguous());
  }
  return model;
}

}  // namespace gaze::models
