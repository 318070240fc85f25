#include "modules/attention/block.h"

#include <torch/torch.h>

namespace gaze {

torch::Tensor AttentionBlock::forward_to_end(const torch::Tensor& x, const torch::Tensor& shortcut) {
  return torch::add(forward(x), shortcut).relu_();
}

int64_t AttentionBlock::parameter_count() const {
  int64_t count = 0;
  for (const torch::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

torch::Tensor AttentionBlock::register_mix(Init init) {
  return init == Init::identity ? register_parameter("mix", torch::zeros({})) : torch::Tensor();
}

}  // namespace gaze
