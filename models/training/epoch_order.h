// Which samples a step takes: every epoch goes through all of them in an order of its own. Includes no torch.
#pragma once

#include <cstdint>
#include <vector>

namespace gaze::models {

// Orders drawn from (seed, stage, epoch), so that a resumed run takes the same samples.
class EpochOrder {
 public:
  explicit EpochOrder(uint64_t seed) : seed_(seed) {}

  // The samples of step `step` counted from 0, of `samples` in batches of `batch`. Those that do not fill a
  // batch are left out of the epoch. samples >= batch.
  std::vector<int64_t> batch_of(int64_t step, int64_t samples, int64_t batch, uint64_t stage);

 private:
  uint64_t seed_;
  std::vector<int64_t> order_;
  int64_t epoch_ = -1;
  uint64_t stage_ = 0;
};

}  // namespace gaze::models
