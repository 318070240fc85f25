#include "models/backbone/backbone.h"

#include <gtest/gtest.h>

#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

std::vector<std::string> keys_with(const torch::nn::Module& module, const std::string& part) {
  std::vector<std::string> keys;
  for (const auto& item : module.named_parameters()) {
    if (item.key().find(part) != std::string::npos) keys.push_back(item.key());
  }
  return keys;
}

TEST(Backbone, unknown_names_list_the_known) {
  EXPECT_THROWS_WITH(make_backbone("resnet5O"), ArgumentError,
                     "[backbone] unknown network \"resnet5O\"; did you mean \"resnet50\"? known: resnet18, "
                     "resnet34, resnet50, "
                     "resnet101, resnet152, efficientnet_lite0");
  EXPECT_THROWS_WITH(make_backbone("resnet18", 0), ArgumentError,
                     "[backbone] expected classes >= 1; got classes 0");
}

TEST(Backbone, every_name_makes_a_network_of_that_name) {
  for (const std::string& name : backbone_names()) {
    const auto network = make_backbone(name, 2);
    EXPECT_EQ(network->name(), name);
    EXPECT_EQ(network->classes(), 2);
  }
}

TEST(Backbone, other_inputs_are_refused_by_shape) {
  const auto network = make_backbone("resnet18", 2);
  EXPECT_THROWS_WITH(network->forward(torch::zeros({3, 8, 8})), ArgumentError,
                     "[resnet18] expected x [B, C=3, H, W]; got x [3, 8, 8]");
  EXPECT_THROWS_WITH(make_backbone("efficientnet_lite0", 2)->forward(torch::zeros({1, 1, 8, 8})),
                     ArgumentError, "[efficientnet_lite0] expected x [B, C=3, H, W]; got x [1, 1, 8, 8]");
}

TEST(Backbone, takes_any_size_and_an_empty_batch) {
  const torch::NoGradGuard no_grad;
  for (const std::string name : {"resnet18", "resnet50", "efficientnet_lite0"}) {
    const auto network = make_backbone(name, 2);
    network->eval();
    EXPECT_EQ(network->forward(torch::zeros({1, 3, 1, 1})).sizes().vec(), (std::vector<int64_t>{1, 2}))
        << name;
    EXPECT_EQ(network->forward(torch::zeros({2, 3, 31, 70})).sizes().vec(), (std::vector<int64_t>{2, 2}))
        << name;
    EXPECT_EQ(network->forward(torch::zeros({0, 3, 64, 64})).sizes().vec(), (std::vector<int64_t>{0, 2}))
        << name;
  }
}

TEST(Backbone, channels_last_and_contiguous_agree) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  for (const std::string name : {"resnet18", "efficientnet_lite0"}) {
    const auto network = make_backbone(name, 5);
    network->eval();
    const torch::Tensor x = torch::randn({2, 3, 65, 64});
    const torch::Tensor a = network->forward(x),
                        b = network->forward(x.contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_LE((a - b).abs().max().item<double>(), 1e-5 * a.abs().max().item<double>()) << name;
  }
}

TEST(Backbone, slots_come_in_the_order_of_the_data) {
  const auto names = [](const std::string& network) {
    std::vector<std::string> names;
    for (const Slot& slot : make_backbone(network, 2)->slots()) {
      names.push_back(fmt::format("{} {}", slot->full_name(), slot->channels()));
    }
    return names;
  };
  EXPECT_EQ(names("resnet18"),
            (std::vector<std::string>{"layer1.0.attn 64", "layer1.1.attn 64", "layer2.0.attn 128",
                                      "layer2.1.attn 128", "layer3.0.attn 256", "layer3.1.attn 256",
                                      "layer4.0.attn 512", "layer4.1.attn 512"}));
  EXPECT_EQ(names("resnet152").size(), 50U);
  EXPECT_EQ(names("resnet50").back(), "layer4.2.attn 2048");
  EXPECT_EQ(names("efficientnet_lite0").size(), 16U);
  EXPECT_EQ(names("efficientnet_lite0").front(), "blocks.0.attn 16");
  EXPECT_EQ(names("efficientnet_lite0").back(), "blocks.15.attn 320");
}

TEST(Fill, puts_blocks_where_the_glob_matches) {
  const auto network = make_backbone("resnet18", 2);
  EXPECT_EQ(keys_with(*network, "attn"), std::vector<std::string>{});
  const std::vector<std::string> filled = network->fill("layer[34].1.attn", "se+se", Init::paper);
  EXPECT_EQ(filled, (std::vector<std::string>{"layer3.1.attn", "layer4.1.attn"}));
  const std::vector<std::string> keys = keys_with(*network, "attn");
  EXPECT_FALSE(keys.empty());
  for (const std::string& key : keys) {
    EXPECT_TRUE(key.rfind("layer3.1.attn.", 0) == 0 || key.rfind("layer4.1.attn.", 0) == 0) << key;
  }
  EXPECT_FALSE(keys_with(*network, "layer3.1.attn.0.").empty());
  EXPECT_FALSE(keys_with(*network, "layer3.1.attn.1.").empty());
  network->fill("layer3.1.attn", "se", Init::paper);
  EXPECT_FALSE(keys_with(*network, "layer3.1.attn.2.").empty()) << "a second fill adds behind the first";
}

TEST(Fill, keys_of_lite0_follow_its_blocks) {
  const auto network = make_backbone("efficientnet_lite0", 2);
  network->fill("blocks.3.attn", "se", Init::paper);
  const std::vector<std::string> keys = keys_with(*network, "attn");
  ASSERT_FALSE(keys.empty());
  for (const std::string& key : keys) EXPECT_EQ(key.rfind("_blocks.3.attn.0.", 0), 0U) << key;
}

TEST(Fill, blocks_act_before_the_add) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  for (const std::string name : {"resnet18", "resnet50", "efficientnet_lite0"}) {
    const auto network = make_backbone(name, 2);
    network->eval();
    const torch::Tensor x = torch::randn({1, 3, 64, 64});
    const torch::Tensor before = network->forward(x);
    const auto slots = network->slots();
    network->fill(slots.back()->full_name(), "se", Init::paper);
    MapRecorder recorder;
    const torch::Tensor after = network->forward(x);
    EXPECT_FALSE(torch::equal(before, after)) << name;
    ASSERT_EQ(recorder.maps().size(), 1U) << name;
    EXPECT_EQ(recorder.maps()[0].name.rfind(slots.back()->full_name() + ".0/", 0), 0U)
        << recorder.maps()[0].name;
  }
}

TEST(Fill, identity_leaves_the_output_bit_equal) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  for (const std::string name : {"resnet18", "efficientnet_lite0"}) {
    const auto network = make_backbone(name, 2);
    network->eval();
    const torch::Tensor x = torch::randn({1, 3, 64, 64});
    const torch::Tensor before = network->forward(x);
    network->fill("*", "se+cbam", Init::identity);
    EXPECT_TRUE(torch::equal(before, network->forward(x))) << name;
  }
}

TEST(Fill, blocks_take_the_networks_dtype_and_mode) {
  const auto network = make_backbone("resnet18", 2);
  network->to(torch::kDouble);
  network->eval();
  network->fill("layer4.*", "cbam", Init::paper);
  for (const auto& item : network->named_parameters())
    EXPECT_EQ(item.value().scalar_type(), torch::kDouble) << item.key();
  for (const auto& module : network->modules()) EXPECT_FALSE(module->is_training());
}

TEST(Fill, a_pattern_without_a_match_names_near_misses_and_changes_nothing) {
  const auto network = make_backbone("resnet18", 2);
  EXPECT_THROWS_WITH(network->fill("layre4.*.attn", "se", Init::paper), ArgumentError,
                     "[backbone] no slot of resnet18 matches \"layre4.*.attn\"; nearest of its 8: "
                     "layer4.0.attn, layer4.1.attn, "
                     "layer1.0.attn");
  EXPECT_THROWS_WITH(network->fill("layer[56].0.attn", "se", Init::paper), ArgumentError,
                     "[backbone] no slot of resnet18 matches \"layer[56].0.attn\"; nearest of its 8: "
                     "layer1.0.attn, layer2.0.attn, "
                     "layer3.0.attn");
  EXPECT_THROW(network->fill("*", "se+cbm", Init::paper), ArgumentError);
  EXPECT_EQ(keys_with(*network, "attn"), std::vector<std::string>{});
}

TEST(Fill, none_adds_nothing) {
  const auto network = make_backbone("resnet18", 2);
  EXPECT_EQ(network->fill("layer1.*", "none", Init::paper).size(), 2U);
  EXPECT_EQ(keys_with(*network, "attn"), std::vector<std::string>{});
}

TEST(ImagenetLabels, are_a_thousand_in_the_order_of_the_heads) {
  const std::vector<std::string>& labels = imagenet_labels();
  ASSERT_EQ(labels.size(), 1000U);
  EXPECT_EQ(labels[0], "tench");
  EXPECT_EQ(labels[387], "lesser panda");
  EXPECT_EQ(labels[388], "giant panda");
  EXPECT_EQ(labels[999], "toilet tissue");
}

}  // namespace
}  // namespace gaze::models
