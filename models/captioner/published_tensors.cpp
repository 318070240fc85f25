#include "models/captioner/published_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/backbone/backbone.h"
#include "modules/core/check.h"

namespace gaze::models::detail {

std::string renamed(const std::string& name, const RenamedStarts& starts, const char* op) {
  for (const auto& [from, to] : starts) {
    if (name.compare(0, from.size(), from) == 0) return to + name.substr(from.size());
  }
  throw ArgumentError(
      fmt::format("[{}] expected the tensors of its encoder and decoder; got {} too", op, name));
}

std::array<int64_t, 2> matrix_size(const StateDict& weights, const std::string& name, const char* op) {
  const auto found = weights.find(name);
  check_that(found != weights.end(), op, fmt::format("the tensor {}", name), "none");
  check_that(found->second.dim() == 2, op, fmt::format("a matrix {}", name),
             fmt::format("{} axes", found->second.dim()));
  return {found->second.size(0), found->second.size(1)};
}

ResNetShape resnet_of(const StateDict& weights, const char* op) {
  TensorSummaries tensors;
  for (const auto& [name, tensor] : weights) tensors[name] = {tensor.scalar_type(), tensor.sizes().vec()};
  ResNetShape shape = resnet_shape(tensors, "backbone.");
  const std::vector<std::string> known = backbone_names();
  check_that(std::find(known.begin(), known.end(), shape.name()) != known.end(), op,
             "an encoder that is one of gaze's ResNets", shape.name());
  return shape;
}

}  // namespace gaze::models::detail
