// Maps of every score by the gradients in one layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/backbone/backbone.h"
#include "models/explain/class_activation.h"
#include "models/explain/score.h"
#include "modules/core/activation_tap.h"

namespace gaze::models {

struct ActivationMaps {
  at::Tensor scores;  // [K]
  at::Tensor maps;    // [K, h, w] float32, signed: see class_activation_map()
};

// One pass, and a gradient for each score. x [1, 3, H, W]; `layer` is a place that the network passes
// (layers_of). Parameters keep their gradients as they are. Throws ArgumentError for a layer that is not
// there, with the nearest name, and for one that the scores do not depend on.
ActivationMaps activation_maps(const Scores& scores, const at::Tensor& x, const std::string& layer, Cam cam);

// Every layer that can be named, with its shape for this input.
std::vector<TappedPlace> layers_of(Backbone& network, const at::Tensor& x);

}  // namespace gaze::models
