// gaze's tensors under the names of torchvision and timm.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/checkpoint/key_map.h"

namespace gaze::models {

enum class Ecosystem { torchvision, timm };

struct NetworkDescription {
  std::string backbone;                      // "resnet50"
  nlohmann::json options;                    // of the backbone
  std::map<std::string, std::string> slots;  // the filled ones, "layer1.0.attn" -> "se(hidden=16)"
};

struct ExportedNetwork {
  StateDict weights;
  std::vector<KeyPlan::Move> moves;  // from gaze's name to theirs
  std::string python;                // builds the network these are of, for load_state_dict
};

// torchvision: ResNets, ResNeXts and wide ResNets without blocks. timm: these, and with se, cbam or eca of
// one kind and one rule of widths in the slot attn of every residual block (`block_args=dict(attn_layer=…)`);
// Caffe-born ones with se as legacy_se*. num_batches_tracked is added where it is missing. Throws
// ArgumentError that names the slots, or the option, that the ecosystem has no name for.
ExportedNetwork export_keys(const NetworkDescription& network, const StateDict& weights, Ecosystem to);

}  // namespace gaze::models
