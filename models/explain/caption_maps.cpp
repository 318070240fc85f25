#include "models/explain/caption_maps.h"

#include <ATen/ATen.h>

#include "models/explain/activation_maps.h"
#include "models/explain/integrated_gradients.h"
#include "models/explain/word_scores.h"
#include "modules/core/check.h"

namespace gaze::models {

std::vector<std::string> caption_map_methods() {
  std::vector<std::string> methods = cam_names();
  methods.emplace_back("ig");
  return methods;
}

CaptionMaps caption_maps(Captioner& captioner, const at::Tensor& input, const Caption& caption,
                         const CaptionMapsOptions& options) {
  check_shape(input, "input", {{"C", 3}, "H", "W"}, "explain");
  const Scores scores = word_scores(captioner, caption);
  const at::Tensor x = input.unsqueeze(0);
  CaptionMaps found{options.method, "", {}, {}};
  if (caption.words.empty()) return found;
  if (options.method == "ig") {
    const IntegratedGradients gradients = integrated_gradients(scores, x, {}, {options.steps});
    found.words = gradients.attributions.sum(1).unbind(0);
    for (size_t w = 0; w < found.words.size(); ++w)
      found.gaps.push_back(gradients.gap[static_cast<int64_t>(w)].item<double>());
    return found;
  }
  found.layer = options.layer.empty() ? captioner.backbone().last_stage() : options.layer;
  found.words = activation_maps(scores, x, found.layer, cam_named(options.method)).maps.unbind(0);
  return found;
}

}  // namespace gaze::models
