#include "models/training/epoch_order.h"

#include <numeric>
#include <utility>

#include "models/training/streams.h"
#include "modules/core/random.h"

namespace gaze::models {

std::vector<int64_t> EpochOrder::batch_of(int64_t step, int64_t samples, int64_t batch, uint64_t stage) {
  const int64_t steps = samples / batch;
  if (step / steps != epoch_ || stage != stage_) {
    epoch_ = step / steps;
    stage_ = stage;
    order_.resize(samples);
    std::iota(order_.begin(), order_.end(), int64_t{0});
    Random random({seed_, kShuffle, stage, static_cast<uint64_t>(epoch_)});
    for (int64_t i = samples - 1; i > 0; --i) std::swap(order_[i], order_[random.below(i + 1)]);
  }
  const auto first = order_.begin() + (step % steps) * batch;
  return {first, first + batch};
}

}  // namespace gaze::models
