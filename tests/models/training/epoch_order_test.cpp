#include "models/training/epoch_order.h"

#include <gtest/gtest.h>

#include <set>

namespace gaze::models {
namespace {

TEST(EpochOrder, goes_through_all_samples_once_an_epoch) {
  EpochOrder order(7);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<int64_t> seen;
    for (int64_t step = 0; step < 3; ++step) {
      for (const int64_t i : order.batch_of(3 * epoch + step, 11, 3, 0)) seen.insert(i);
    }
    EXPECT_EQ(seen.size(), 9U);  // two of the eleven do not fill a batch
    EXPECT_LT(*seen.rbegin(), 11);
  }
}

TEST(EpochOrder, depends_on_seed_stage_and_epoch_alone) {
  EpochOrder straight(7), resumed(7), other(8);
  straight.batch_of(0, 40, 8, 0);
  straight.batch_of(1, 40, 8, 0);
  const std::vector<int64_t> batch = straight.batch_of(7, 40, 8, 0);
  EXPECT_EQ(resumed.batch_of(7, 40, 8, 0), batch);
  EXPECT_NE(resumed.batch_of(2, 40, 8, 0), batch);  // the same place in another epoch
  EXPECT_NE(resumed.batch_of(7, 40, 8, 1), batch);
  EXPECT_EQ(resumed.batch_of(7, 40, 8, 0), batch);
  EXPECT_NE(other.batch_of(7, 40, 8, 0), batch);
}

}  // namespace
}  // namespace gaze::models
