#include "modules/attention/slot.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <sstream>

#include "modules/attention/registry.h"
#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/modules/attention/block_contract.h"
#include "tests/support/throws_with.h"

namespace gaze {
namespace {

TEST(Slot, empty_returns_its_input_and_has_no_keys) {
  Slot slot("layer3.5.attn", 16);
  const torch::Tensor x = torch::randn({1, 16, 2, 2});
  EXPECT_TRUE(slot->forward(x).is_same(x));
  EXPECT_TRUE(slot->empty());
  EXPECT_TRUE(test::keys_of(*slot).empty());
  EXPECT_EQ(slot->spec(), "none");
}

TEST(Slot, runs_its_blocks_in_order_under_their_places) {
  torch::manual_seed(1);
  Slot slot("layer3.5.attn", 16);
  slot->add(test::block_of("se", 16));
  slot->add(test::block_of("cbam(kernel=3)", 16));
  EXPECT_EQ(slot->spec(), "se(reduction=16)+cbam(reduction=16, kernel=3)");
  const auto keys = test::keys_of(*slot);
  EXPECT_EQ(keys.front(), "0.fc1.weight");
  EXPECT_EQ(keys.back(), "1.spatial.bn.num_batches_tracked");
  slot->eval();
  const torch::Tensor x = torch::randn({2, 16, 3, 3});
  const torch::Tensor expected = slot->blocks()[1]->forward(slot->blocks()[0]->forward(x));
  MapRecorder recorder;
  EXPECT_TRUE(torch::equal(slot->forward(x), expected));
  ASSERT_EQ(recorder.maps().size(), 3U);
  EXPECT_EQ(recorder.maps()[0].name, "layer3.5.attn.0/channel");
  EXPECT_EQ(recorder.maps()[1].name, "layer3.5.attn.1/channel");
  EXPECT_EQ(recorder.maps()[2].name, "layer3.5.attn.1/spatial");
}

TEST(Slot, a_block_takes_the_slots_mode_and_clear_removes_it) {
  Slot slot("between.1", 8);
  slot->eval();
  slot->add(test::block_of("cbam", 8));
  EXPECT_FALSE(slot->blocks()[0]->is_training());
  slot->clear();
  EXPECT_TRUE(slot->empty());
  EXPECT_TRUE(test::keys_of(*slot).empty());
  slot->add(test::block_of("se", 8));
  EXPECT_EQ(test::keys_of(*slot).front(), "0.fc1.weight");
}

// A block with a layer that a slot can stand in for.
struct HostImpl : torch::nn::Module {
  HostImpl() {
    conv1 = register_module("conv1", torch::nn::Conv2d(8, 8, 1));
    slot = register_module("slot", Slot("host.slot", 8));
    slot->stand_in_for(*this, "conv1");
  }
  torch::nn::Conv2d conv1{nullptr};
  Slot slot{nullptr};
};

TEST(Slot, stands_in_for_a_layer_while_it_is_filled) {
  HostImpl host;
  const std::vector<std::string> before = test::keys_of(host);
  EXPECT_EQ(host.slot->layer_name(), "conv1");
  EXPECT_EQ(host.slot->layer(), host.conv1.ptr());
  host.slot->add(test::block_of("se", 8));
  host.slot->add(test::block_of("se", 8));
  EXPECT_EQ(test::keys_of(host).front(), "slot.0.fc1.weight");
  EXPECT_EQ(test::keys_of(host).size(), 8U);
  host.to(torch::kDouble);
  host.eval();
  host.slot->clear();
  EXPECT_EQ(test::keys_of(host), before);
  EXPECT_EQ(host.conv1->weight.scalar_type(), torch::kDouble) << "it follows what it missed";
  EXPECT_FALSE(host.conv1->is_training());
  host.slot->lose_layer();
  EXPECT_FALSE(host.slot->layer_lost()) << "a layer that is in use is not lost";
}

TEST(Slot, whose_layer_is_lost_stays_filled) {
  HostImpl host;
  host.slot->add(test::block_of("se", 8));
  host.slot->lose_layer();
  EXPECT_THROWS_WITH(host.slot->clear(), ArgumentError,
                     "[slot] expected a block in host.slot, since the weights of conv1 are lost; got none");
  EXPECT_EQ(host.slot->blocks().size(), 1U);
  host.slot->set({test::block_of("cbam", 8)});
  EXPECT_EQ(test::keys_of(host).back(), "slot.0.spatial.bn.num_batches_tracked");
}

TEST(Slot, all_of_a_network_are_found) {
  HostImpl host;
  EXPECT_EQ(slots_of(host).size(), 1U);
  EXPECT_EQ(slots_of(host)[0]->full_name(), "host.slot");
  EXPECT_TRUE(slots_of(*host.conv1).empty());
}

TEST(Slot, prints_itself_and_refuses_nothing) {
  Slot slot("layer1.0.attn", 8);
  std::ostringstream stream;
  stream << *slot;
  EXPECT_EQ(stream.str(), "gaze::Slot(layer1.0.attn, channels=8, none)");
  EXPECT_THROWS_WITH(slot->add(nullptr), ArgumentError, "[slot] expected a block; got none");
}

}  // namespace
}  // namespace gaze
