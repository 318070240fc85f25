#include "models/explain/class_activation.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "class_activation_map";
constexpr double kEpsilon = 1e-6;

// w [..., C, 1, 1]
at::Tensor plus_plus_weights(const at::Tensor& activation, const at::Tensor& gradient) {
  const at::Tensor squared = gradient.square();
  const at::Tensor below = 2 * squared + squared * gradient * activation.sum({-2, -1}, /*keepdim=*/true) +
                           kEpsilon;  // [..., C, H, W]
  return (squared / below * gradient.relu()).sum({-2, -1}, /*keepdim=*/true);
}

}  // namespace

const std::vector<std::string>& cam_names() {
  static const std::vector<std::string> names = {"gradcam", "gradcam++", "hirescam"};
  return names;
}

Cam cam_named(const std::string& name) {
  const auto found = std::find(cam_names().begin(), cam_names().end(), name);
  if (found == cam_names().end()) fail_unknown("explain", "method", name, cam_names());
  return static_cast<Cam>(found - cam_names().begin());
}

at::Tensor class_activation_map(Cam cam, const at::Tensor& activation, const at::Tensor& gradient) {
  check_that(activation.dim() >= 3 && activation.sizes() == gradient.sizes(), kOp,
             "activation and gradient [..., C, H, W]",
             shape_text(activation.sizes()) + " and " + shape_text(gradient.sizes()));
  const at::Tensor A = activation.detach().to(at::kFloat), g = gradient.to(at::kFloat);
  switch (cam) {
    case Cam::gradcam:
      return (g.mean({-2, -1}, /*keepdim=*/true) * A).sum(-3);
    case Cam::gradcam_plus_plus:
      return (plus_plus_weights(A, g) * A).sum(-3);
    case Cam::hirescam:
      return (g * A).sum(-3);
  }
  return {};
}

}  // namespace gaze::models
