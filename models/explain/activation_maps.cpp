#include "models/explain/activation_maps.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "explain";

void check_picture(const at::Tensor& x) {
  check_shape(x, "x", {{"B", 1}, {"C", 3}, "H", "W"}, kOp);
}

}  // namespace

ActivationMaps activation_maps(const Scores& scores, const at::Tensor& x, const std::string& layer, Cam cam) {
  check_picture(x);
  const at::AutoGradMode with_graph(true);
  const ActivationTap tap({layer});
  const at::Tensor found = scores(x);  // [1, K]
  const at::Tensor& activation = tap.value(layer);
  check_shape(found, "scores", {{"B", 1}, "K"}, kOp);
  check_that(found.requires_grad(), kOp, "a layer that the scores depend on", layer);
  ActivationMaps result{found.detach()[0], {}};
  std::vector<at::Tensor> maps;
  for (int64_t k = 0; k < found.size(1); ++k) {
    const at::Tensor gradient =
        torch::autograd::grad({found[0][k]}, {activation}, {}, /*retain_graph=*/true)[0];
    maps.push_back(class_activation_map(cam, activation[0], gradient[0]));
  }
  if (!maps.empty()) result.maps = at::stack(maps);
  return result;
}

std::vector<TappedPlace> layers_of(Backbone& network, const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  const ActivationTap tap;
  network.stages(x);
  return tap.places();
}

}  // namespace gaze::models
