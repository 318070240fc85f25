#include "models/training/evidence_cache.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/temporary_folder.h"

namespace gaze::models {
namespace {

TEST(EvidenceCache, keeps_cells_row_major_and_survives_reopening) {
  const test::TemporaryFolder folder;
  const torch::Tensor evidence = torch::arange(2 * 2 * 3, torch::kFloat).view({2, 2, 3});  // [K, h, w]
  {
    EvidenceCache cache(folder.path() / "e", "key", 2, 6, 2);
    EXPECT_FALSE(cache.finished());
    cache.put(1, evidence);
    cache.put(0, -evidence);
    cache.finish();
  }
  const EvidenceCache cache(folder.path() / "e", "key", 2, 6, 2);
  EXPECT_TRUE(cache.finished());
  const torch::Tensor got = cache.get(torch::tensor({int64_t{1}}));
  EXPECT_EQ(got.sizes(), (std::vector<int64_t>{1, 6, 2}));
  EXPECT_EQ(got[0][4][1].item<double>(),
            evidence[1][1][1].item<double>());  // cell 4 of a 2 x 3 grid is row 1, column 1
}

TEST(EvidenceCache, another_key_starts_again) {
  const test::TemporaryFolder folder;
  { EvidenceCache(folder.path() / "e", "key", 2, 6, 2).finish(); }
  EXPECT_TRUE(EvidenceCache(folder.path() / "e", "key", 2, 6, 2).finished());
  EXPECT_FALSE(EvidenceCache(folder.path() / "e", "seed 2", 2, 6, 2).finished());
}

TEST(EvidenceCache, another_size_starts_again) {
  const test::TemporaryFolder folder;
  { EvidenceCache(folder.path() / "e", "key", 2, 6, 2).finish(); }
  EXPECT_FALSE(EvidenceCache(folder.path() / "e", "key", 3, 6, 2).finished());
}

}  // namespace
}  // namespace gaze::models
