#include "models/backbone/backbone.h"

#include <fmt/format.h>
#include <torch/nn/functional/dropout.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/backbone/efficientnet_lite.h"
#include "models/backbone/resnet.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr const char* kLite0 = "efficientnet_lite0";

}  // namespace

nlohmann::json to_json(const BackboneOptions& options) {
  const BackboneOptions usual;
  nlohmann::json json = {{"classes", options.classes}};
  if (options.stride_in_conv1) json["stride_in_conv1"] = true;
  if (options.ceil_pool) json["ceil_pool"] = true;
  if (options.dilate != usual.dilate) json["dilate"] = options.dilate;
  return json;
}

BackboneOptions backbone_options_from_json(const nlohmann::json& json) {
  check_that(json.is_object(), "backbone", "options as a JSON object", json.dump());
  BackboneOptions options;
  for (const auto& [key, value] : json.items()) {
    if (key == "classes") {
      check_that(value.is_number_integer(), "backbone", "a whole number of classes", value.dump());
      options.classes = value;
    } else if (key == "stride_in_conv1" || key == "ceil_pool") {
      check_that(value.is_boolean(), "backbone", key + " true or false", value.dump());
      (key == "ceil_pool" ? options.ceil_pool : options.stride_in_conv1) = value;
    } else if (key == "dilate") {
      const bool fits = value.is_array() && value.size() == options.dilate.size() &&
                        std::all_of(value.begin(), value.end(), [](const auto& v) { return v.is_boolean(); });
      check_that(fits, "backbone", "dilate as three of true and false", value.dump());
      options.dilate = value;
    } else {
      fail_unknown("backbone", "option", key, {"classes", "stride_in_conv1", "ceil_pool", "dilate"});
    }
  }
  return options;
}

torch::Tensor Backbone::forward(const torch::Tensor& x) {
  const torch::Tensor pooled = stages(x).back().value.mean({2, 3});   // [B, C]
  return classify(torch::dropout(pooled, dropout(), is_training()));  // [B, K]
}

torch::Tensor Backbone::class_evidence(const torch::Tensor& x) {
  const torch::Tensor cells = stages(x).back().value.permute({0, 2, 3, 1});  // [B, h, w, C]
  return classify(cells).permute({0, 3, 1, 2});                              // [B, K, h, w]
}

std::vector<std::string> backbone_names() {
  std::vector<std::string> names = resnet_names();
  names.emplace_back(kLite0);
  return names;
}

std::shared_ptr<Backbone> make_backbone(const std::string& name, const BackboneOptions& options) {
  const std::vector<std::string>& resnets = resnet_names();
  const bool is_resnet = std::find(resnets.begin(), resnets.end(), name) != resnets.end();
  const int64_t least = is_resnet ? 0 : 1;
  check_that(options.classes >= least, "backbone", fmt::format("classes >= {}", least),
             fmt::format("classes {}", options.classes));
  if (is_resnet) return std::make_shared<ResNet>(name, options);
  if (name == kLite0) return std::make_shared<EfficientNetLite>(options);
  fail_unknown("backbone", "network", name, backbone_names());
}

std::shared_ptr<Backbone> make_backbone(const std::string& name, int64_t classes) {
  BackboneOptions options;
  options.classes = classes;
  return make_backbone(name, options);
}

}  // namespace gaze::models
