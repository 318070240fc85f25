// A network as a model file that classifies, and the parts of any model file that tell its network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"
#include "models/checkpoint/model_file.h"

namespace gaze::models {

// "backbone": {"name": "resnet50", "stride": 32, "options": {"classes": 1000}}
nlohmann::json describe_backbone(const Backbone& network);

// "slots": {"layer4.2.attn": "se(reduction=16)"}, the filled ones.
nlohmann::json describe_slots(Backbone& network);

// Task "classify", with the network's weights (not copied, in its dtype) under "backbone.". `labels` may be
// empty; the 1000 classes of a network without labels are ImageNet's. For write_model_file.
ModelFile classifier_file(Backbone& network, const Preprocessing& preprocessing,
                          const std::vector<std::string>& labels, const nlohmann::json& provenance);

}  // namespace gaze::models
