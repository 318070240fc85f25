#include "modules/attention/token_cache.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <vector>

namespace gaze {
namespace {

constexpr int64_t R = 3, D = 6, N = 2;

// What the cache should hold, joined anew each time.
struct Joined {
  torch::Tensor keys, values;  // [R, T, D]

  torch::Tensor by_head(const torch::Tensor& x) const {
    return x.view({x.size(0), x.size(1), N, D / N}).transpose(1, 2);
  }
};

TEST(TokenCache, holds_all_tokens_whatever_their_number) {
  TokenCache cache(R, D, torch::empty({0}));
  EXPECT_EQ(cache.read(N).keys.sizes(), (std::vector<int64_t>{R, N, 0, D / N}));
  Joined all;
  for (int64_t t = 0; t < 70; ++t) {
    const torch::Tensor keys = torch::randn({R, 1, D}), values = torch::randn({R, 1, D});
    cache.append(keys, values);
    all.keys = t == 0 ? keys : torch::cat({all.keys, keys}, 1);
    all.values = t == 0 ? values : torch::cat({all.values, values}, 1);
    ASSERT_EQ(cache.length(), t + 1);
    const ProjectedMemory read = cache.read(N);
    ASSERT_TRUE(read.keys.equal(all.by_head(all.keys))) << t;
    ASSERT_TRUE(read.values.equal(all.by_head(all.values))) << t;
  }
}

TEST(TokenCache, a_token_moves_no_other_but_where_room_is_made) {
  TokenCache cache(R, D, torch::empty({0}));
  cache.append(torch::zeros({R, 1, D}), torch::zeros({R, 1, D}));
  int moves = 0;
  const void* place = cache.read(N).keys.data_ptr();
  for (int64_t t = 1; t < 128; ++t) {
    cache.append(torch::zeros({R, 1, D}), torch::zeros({R, 1, D}));
    moves += cache.read(N).keys.data_ptr() != place ? 1 : 0;
    place = cache.read(N).keys.data_ptr();
  }
  EXPECT_LE(moves, 3);
}

TEST(TokenCache, rows_are_handed_on) {
  torch::manual_seed(5);
  for (const std::vector<int64_t>& rows : std::vector<std::vector<int64_t>>{
           {0, 1, 2}, {2, 1, 0}, {1, 1, 1}, {1, 2, 0}, {2, 0}, {0, 0, 2, 2, 1}, {}}) {
    TokenCache cache(R, D, torch::empty({0}));
    Joined all;
    for (int64_t t = 0; t < 5; ++t) {
      const torch::Tensor keys = torch::randn({R, 1, D}), values = torch::randn({R, 1, D});
      cache.append(keys, values);
      all.keys = t == 0 ? keys : torch::cat({all.keys, keys}, 1);
      all.values = t == 0 ? values : torch::cat({all.values, values}, 1);
    }
    const torch::Tensor order = torch::tensor(rows, torch::kLong);
    cache.reorder(RowOrder(order, R));
    const torch::Tensor next = torch::randn({order.size(0), 1, D});
    cache.append(next, -next);
    const ProjectedMemory read = cache.read(N);
    EXPECT_TRUE(read.keys.equal(all.by_head(torch::cat({all.keys.index_select(0, order), next}, 1))));
    EXPECT_TRUE(read.values.equal(all.by_head(torch::cat({all.values.index_select(0, order), -next}, 1))));
  }
}

TEST(TokenCache, an_order_knows_what_changes) {
  const RowOrder same(torch::tensor({0, 1, 2}), 3), some(torch::tensor({0, 2, 2}), 3),
      fewer(torch::tensor({0, 1}), 3);
  EXPECT_TRUE(same.keeps_all());
  EXPECT_FALSE(some.keeps_all());
  EXPECT_TRUE(some.changed.equal(torch::tensor({1})));
  EXPECT_TRUE(some.from.equal(torch::tensor({2})));
  EXPECT_FALSE(fewer.keeps_all());
}

}  // namespace
}  // namespace gaze
