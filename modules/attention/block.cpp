#include "modules/attention/block.h"

namespace gaze {

int64_t AttentionBlock::parameter_count() const {
  int64_t count = 0;
  for (const torch::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

}  // namespace gaze
