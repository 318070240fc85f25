// A block that looks at an earlier stage, in a network.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/backbone/backbone.h"
#include "models/backbone/insert.h"
#include "modules/attention/stage_memory.h"
#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(CrossInANetwork, looks_at_the_output_of_the_earlier_stage) {
  torch::manual_seed(1);
  const auto network = make_backbone("resnet18", 10);
  network->eval();
  const torch::NoGradGuard guard;
  const torch::Tensor x = torch::randn({2, 3, 64, 96});
  const std::vector<StageFeature> before = network->stages(x);  // layer2 8 x 12 cells, layer3 4 x 6
  InsertOptions options;
  options.init = Init::paper;
  const InsertReport report = insert(*network, "layer3.1.post", "cross(memory=layer2, heads=4)", options);
  EXPECT_EQ(report.inserted.at(0).parameters, 2 * (256 * 256 + 256) + 2 * (128 * 256 + 256));

  const MapRecorder recorder;
  const std::vector<StageFeature> after = network->stages(x);
  ASSERT_EQ(recorder.maps().size(), 1U);
  EXPECT_EQ(recorder.maps()[0].name, "layer3.1.post.0/cross");
  EXPECT_EQ(recorder.maps()[0].values.sizes(), torch::IntArrayRef({2, 4 * 6, 8 * 12}));
  test::expect_near(recorder.maps()[0].values.sum(2), torch::ones({2, 24}), 1e-5, "rows of the map");

  // The slot is the last place of layer3, so the block by hand, on what the stages were, gives what they are.
  StageMemory stages;
  stages.put("layer2", before[1].value);
  AttentionBlock* block = nullptr;
  for (const Slot& slot : network->slots()) {
    if (!slot->empty()) block = slot->blocks()[0].get();
  }
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(torch::equal(after[1].value, before[1].value));
  EXPECT_TRUE(torch::equal(after[2].value, block->forward(before[2].value)));
  EXPECT_FALSE(torch::equal(after[2].value, before[2].value));
}

TEST(CrossInANetwork, counts_the_cells_of_both_maps) {
  const auto network = make_backbone("resnet18", 10);
  InsertOptions options;
  options.height = options.width = 224;
  const InsertReport report = insert(*network, "layer3.1.attn", "cross(memory=layer2)", options);
  // 14 x 14 = 196 queries, 28 x 28 = 784 keys.
  EXPECT_EQ(report.inserted.at(0).macs,
            2 * 196 * 256 * 256 + 2 * 784 * 128 * 256 + 2 * 196 * int64_t{784} * 256);
}

TEST(CrossInANetwork, a_later_stage_is_an_error_and_changes_nothing) {
  const auto network = make_backbone("resnet18", 10);
  const size_t tensors = network->parameters().size();
  EXPECT_THROWS_WITH(insert(*network, "layer[34].1.attn", "cross(memory=layer3)"), ArgumentError,
                     "[cross] expected memory=a stage that ends before layer3.1.attn (layer1, layer2); got "
                     "memory=layer3");
  EXPECT_EQ(network->parameters().size(), tensors);
}

}  // namespace
}  // namespace gaze::models
