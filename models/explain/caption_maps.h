// Maps of each word of a caption, by the gradients of its log-probability.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/captioner/captioner.h"

namespace gaze::models {

struct CaptionMapsOptions {
  std::string method = "gradcam";  // of cam_names(), or "ig": integrated gradients
  std::string layer;               // of the class activation maps; empty: the network's last stage
  int64_t steps = 50;              // of integrated gradients
};

struct CaptionMaps {
  std::string method, layer;      // "" for integrated gradients, whose cells are the input's pixels
  std::vector<at::Tensor> words;  // each [h, w] float32, signed
  std::vector<double> gaps;       // of integrated gradients: see IntegratedGradients
};

// "gradcam", "gradcam++", "hirescam", "ig".
std::vector<std::string> caption_map_methods();

// input [3, H, W]: the prepared picture that the caption was said of; integrated gradients start at the mean
// colour, and their map is the sum over colours. Throws ArgumentError for an unknown method or layer.
CaptionMaps caption_maps(Captioner& captioner, const at::Tensor& input, const Caption& caption,
                         const CaptionMapsOptions& options = {});

}  // namespace gaze::models
