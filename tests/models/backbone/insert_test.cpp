#include "models/backbone/insert.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "models/backbone/backbone.h"
#include "modules/attention/registry.h"
#include "modules/core/attention_map.h"
#include "modules/core/error.h"
#include "tests/models/backbone/golden_network.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using Names = std::vector<std::string>;

Names keys_with(const torch::nn::Module& module, const std::string& part) {
  Names keys;
  for (const auto& item : module.named_parameters()) {
    if (item.key().find(part) != std::string::npos) keys.push_back(item.key());
  }
  return keys;
}

std::string state_of(Backbone& network) {
  std::string text;
  for (const Slot& slot : network.slots()) text += slot->full_name() + " " + slot->spec() + "\n";
  for (const auto& item : network.named_parameters()) text += item.key() + "\n";
  return text;
}

InsertOptions with(Init init) {
  InsertOptions options;
  options.init = init;
  return options;
}

TEST(Slots, come_in_the_order_of_the_data) {
  const auto names = [](const std::string& network, size_t first, size_t count) {
    const std::vector<Slot> slots = make_backbone(network, 2)->slots();
    std::string text;
    for (size_t i = first; i < first + count; ++i)
      text += fmt::format("{} {} {}\n", slots[i]->full_name(), slots[i]->channels(), slots[i]->place().step);
    return text;
  };
  EXPECT_EQ(make_backbone("resnet18", 2)->slots().size(), 8U * 6 + 3);
  EXPECT_EQ(names("resnet18", 0, 14),
            "layer1.0.pre 64 4\nlayer1.0.mid 64 4\nlayer1.0.conv 64 4\nlayer1.0.skip 64 4\n"
            "layer1.0.attn 64 4\nlayer1.0.post 64 4\nlayer1.1.pre 64 4\nlayer1.1.mid 64 4\n"
            "layer1.1.conv 64 4\nlayer1.1.skip 64 4\nlayer1.1.attn 64 4\nlayer1.1.post 64 4\n"
            "between.1 64 4\nlayer2.0.pre 64 4\n");
  EXPECT_EQ(names("resnet50", 3 * 6 + 1, 6),
            "layer2.0.pre 256 4\nlayer2.0.conv 128 4\nlayer2.0.mid 128 8\nlayer2.0.skip 512 8\n"
            "layer2.0.attn 512 8\nlayer2.0.post 512 8\n");
  EXPECT_EQ(names("resnext50_32x4d", 1, 1), "layer1.0.conv 128 4\n");
  // 16 blocks, 9 of them with a shortcut, and four stages to stand between.
  EXPECT_EQ(make_backbone("efficientnet_lite0", 2)->slots().size(), 16U * 2 + 9 * 3 + 4);
  EXPECT_EQ(names("efficientnet_lite0", 0, 5),
            "blocks.0.mid 32 2\nblocks.0.attn 16 2\nbetween.1 16 2\nblocks.1.mid 96 4\nblocks.1.attn 24 4\n");
  EXPECT_EQ(names("efficientnet_lite0", 5, 5),
            "blocks.2.pre 24 4\nblocks.2.mid 144 4\nblocks.2.attn 24 4\nblocks.2.skip 24 4\n"
            "blocks.2.post 24 4\n");
}

TEST(Slots, empty_ones_have_no_keys) {
  for (const char* name : {"resnet18", "resnet50", "efficientnet_lite0"}) {
    for (const char* leaf : {".pre", ".mid", ".conv.", ".attn", ".post", ".skip", "between"})
      EXPECT_EQ(keys_with(*make_backbone(name, 2), leaf), Names{}) << name;
  }
}

TEST(Insert, puts_blocks_where_the_pattern_matches) {
  const auto network = make_backbone("resnet18", 2);
  const InsertReport report = insert(*network, "layer[34].1.attn", "se+se");
  ASSERT_EQ(report.inserted.size(), 4U);
  EXPECT_EQ(report.inserted[1].slot, "layer3.1.attn");
  EXPECT_EQ(report.inserted[1].index, 1);
  EXPECT_EQ(report.inserted[2].slot, "layer4.1.attn");
  const Names keys = keys_with(*network, "attn");
  EXPECT_EQ(keys.size(), 4U * 5);
  EXPECT_EQ(keys.front(), "layer3.1.attn.0.mix");
  EXPECT_EQ(keys.back(), "layer4.1.attn.1.fc2.bias");
  insert(*network, "layer3.1.attn", "se");
  EXPECT_EQ(keys_with(*network, "layer3.1.attn.2.").size(), 5U) << "a second one goes behind the first";
  insert(*network, "between.2", "se");
  EXPECT_EQ(keys_with(*network, "between").back(), "between.2.0.fc2.bias");
}

TEST(Insert, keys_of_lite0_follow_its_blocks) {
  const auto network = make_backbone("efficientnet_lite0", 2);
  insert(*network, "blocks.3.attn", "se", with(Init::paper));
  const Names keys = keys_with(*network, "attn");
  ASSERT_EQ(keys.size(), 4U);
  for (const std::string& key : keys) EXPECT_EQ(key.rfind("_blocks.3.attn.0.", 0), 0U) << key;
}

TEST(Insert, blocks_take_the_networks_dtype_and_mode) {
  const auto network = make_backbone("resnet18", 2);
  network->to(torch::kDouble);
  network->eval();
  insert(*network, "layer4.*", "cbam");
  for (const auto& item : network->named_parameters())
    EXPECT_EQ(item.value().scalar_type(), torch::kDouble) << item.key();
  for (const auto& module : network->modules()) EXPECT_FALSE(module->is_training());
  network->train();
  insert(*network, "layer4.1.post", "cbam");
  for (const auto& module : network->modules()) EXPECT_TRUE(module->is_training());
}

TEST(Insert, adds_the_published_number_of_parameters) {
  const auto count = [](const char* name, const char* spec) {
    const auto network = make_backbone(name);
    const InsertReport report = insert(*network, "*.attn", spec, with(Init::paper));
    int64_t sum = 0, before = 0;
    for (const auto& item : network->named_parameters()) {
      sum += item.value().numel();
      if (item.key().find(".attn.") == std::string::npos) before += item.value().numel();
    }
    EXPECT_EQ(report.parameters(), sum - before) << name << " " << spec;
    return sum;
  };
  EXPECT_EQ(count("resnet18", "se"), 11778592);
  EXPECT_EQ(count("resnet34", "se"), 21958868);
  EXPECT_EQ(count("resnet50", "se"), 28088024);
  EXPECT_EQ(count("resnet50", "se(bias=false)"), 28071976);
  EXPECT_EQ(count("resnet101", "se"), 49326872);
  EXPECT_EQ(count("resnet18", "cbam"), 11779392);
  EXPECT_EQ(count("resnet50", "cbam"), 28089624);
  EXPECT_EQ(count("resnet50", "cbam(bias=false)"), 28073576) << "as timm builds it";
  EXPECT_EQ(count("resnet101", "cbam"), 49330172);
}

TEST(Insert, reports_in_words_and_numbers) {
  const auto network = make_backbone("resnet18", 2);
  const InsertReport report = insert(*network, "layer4.1.attn,layer4.0.conv", "se");
  EXPECT_EQ(
      report.text(),
      "slot             module                           channels  cells  parameters    MACs  identity\n"
      "layer4.0.conv.0  se(reduction=16, init=identity)       512    7x7      33,313  57,856  no\n"
      "layer4.1.attn.0  se(reduction=16, init=identity)       512    7x7      33,313  57,856  yes\n"
      "gone layer4.0.conv2.weight [512, 512, 3, 3]\n"
      "2 blocks in, 0 out: -2,292,670 parameters, +115,712 MACs for a picture of 224x224\n");
  EXPECT_EQ(to_json(report), nlohmann::json::parse(R"json({
    "inserted": [{"slot": "layer4.0.conv", "index": 0, "module": "se(reduction=16, init=identity)",
                  "channels": 512, "cells": [7, 7], "parameters": 33313, "macs": 57856, "identity": false
},
                 {"slot": "layer4.1.attn", "index": 0, "module": "se(reduction=16, init=identity)",
                  "channels": 512, "cells": [7, 7], "parameters": 33313, "macs": 57856, "identity": true}],
    "removed": [], "weights_gone": [{"key": "layer4.0.conv2.weight", "shape": [512, 512, 3, 3]}],
    "weights_back": [], "parameters": -2292670, "macs": 115712, "input": [224, 224], "identity": false
})json"));
  InsertOptions options;
  options.height = 225;
  options.width = 64;
  const InsertedBlock told = insert(*network, "layer2.0.pre", "se", options).inserted[0];
  EXPECT_EQ(told.rows, 57);
  EXPECT_EQ(told.cols, 16);
  EXPECT_EQ(told.macs, 2 * 64 * 4 + 64 * 57 * 16);
}

TEST(Insert, identity_is_tried_not_believed) {
  const auto network = make_backbone("resnet18", 2);
  EXPECT_FALSE(insert(*network, "layer4.1.attn", "se", with(Init::paper)).identity());
  EXPECT_TRUE(insert(*network, "layer4.1.attn", "se(init=identity)", with(Init::paper)).identity());
  EXPECT_FALSE(insert(*network, "layer4.1.attn", "se(init=paper)").identity());
  EXPECT_TRUE(insert(*network, "layer1.*", "cbam").identity());
}

TEST(Insert, a_dry_run_changes_nothing) {
  const auto network = make_backbone("resnet18", 2);
  insert(*network, "layer4.1.attn", "se");
  const std::string before = state_of(*network);
  InsertOptions options;
  options.dry_run = true;
  EXPECT_EQ(insert(*network, "*.attn", "cbam", options).inserted.size(), 8U);
  options.replace = true;
  EXPECT_EQ(insert(*network, "*.{attn,conv}", "cbam", options).weights_gone.size(), 8U);
  EXPECT_EQ(remove(*network, "*", options).removed.size(), 1U);
  EXPECT_EQ(state_of(*network), before);
}

TEST(Insert, replace_takes_the_place_of_what_was_there) {
  const auto network = make_backbone("resnet18", 2);
  insert(*network, "layer4.1.attn", "se+cbam");
  InsertOptions options;
  options.replace = true;
  const InsertReport report = insert(*network, "layer4.1.{attn,post}", "se(reduction=8)", options);
  ASSERT_EQ(report.removed.size(), 2U);
  EXPECT_EQ(report.removed[0].spec, "se(reduction=16, init=identity)");
  EXPECT_EQ(report.removed[0].parameters, 33313);
  EXPECT_EQ(report.inserted.size(), 2U);
  EXPECT_EQ(report.inserted[0].index, 0);
  EXPECT_EQ(keys_with(*network, "layer4.1.attn.").size(), 5U);
  EXPECT_NE(report.text().find("removed layer4.1.attn se(reduction=16, init=identity) (33,313 parameters)\n"),
            std::string::npos);
  insert(*network, "layer4.1.attn", "none", options);
  EXPECT_EQ(keys_with(*network, "layer4.1.attn."), Names{});
}

TEST(Remove, undoes_an_insertion) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  const auto network = make_backbone("resnet18", 2);
  network->eval();
  const torch::Tensor x = torch::randn({1, 3, 64, 64});
  const torch::Tensor before = network->forward(x);
  insert(*network, "layer4.*.attn,layer3.0.conv", "se", with(Init::paper));
  EXPECT_FALSE(torch::equal(before, network->forward(x)));
  EXPECT_EQ(keys_with(*network, "layer3.0.conv2"), Names{});
  EXPECT_THROWS_WITH(remove(*network, "layer4.0.atn"), ArgumentError,
                     "[remove] no filled slot of resnet18 matches \"layer4.0.atn\"; nearest of its 3: "
                     "layer4.0.attn, layer4.1.attn, layer3.0.conv");
  const InsertReport report = remove(*network, "layer[34].*");
  EXPECT_EQ(report.text(),
            "removed layer3.0.conv se(reduction=16) (8,464 parameters)\n"
            "removed layer4.0.attn se(reduction=16) (33,312 parameters)\n"
            "removed layer4.1.attn se(reduction=16) (33,312 parameters)\n"
            "back layer3.0.conv2.weight [256, 256, 3, 3]\n"
            "0 blocks in, 3 out: +514,736 parameters\n");
  EXPECT_TRUE(torch::equal(before, network->forward(x)));
  EXPECT_EQ(keys_with(*network, "layer3.0.conv2").size(), 1U);
  EXPECT_THROWS_WITH(remove(*network, "*"), ArgumentError,
                     "[remove] expected a filled slot of resnet18; got none");
}

TEST(Insert, a_convolution_that_comes_back_follows_its_network) {
  const auto network = make_backbone("resnet50", 2);
  insert(*network, "layer4.0.conv", "se");
  network->to(torch::kDouble);
  network->eval();
  remove(*network, "layer4.0.conv");
  EXPECT_EQ(network->named_parameters()["layer4.0.conv2.weight"].scalar_type(), torch::kDouble);
  network->forward(torch::zeros({1, 3, 33, 33}, torch::kDouble));
}

TEST(Insert, mistakes_are_named_and_change_nothing) {
  const auto network = make_backbone("resnet18", 2);
  const std::string before = state_of(*network);
  EXPECT_THROWS_WITH(insert(*network, "layre4.*.attn", "se"), ArgumentError,
                     "[insert] no slot of resnet18 matches \"layre4.*.attn\"; nearest of its 51: "
                     "layer4.0.attn, layer4.1.attn, layer1.0.attn");
  EXPECT_THROWS_WITH(insert(*network, "layer4.0.atn", "se"), ArgumentError,
                     "[insert] no slot of resnet18 matches \"layer4.0.atn\"; nearest of its 51: "
                     "layer4.0.attn, layer1.0.attn, layer2.0.attn");
  EXPECT_THROW(insert(*network, "*", "se+cbm"), ArgumentError);
  EXPECT_THROW(insert(*network, "*", "se(reductoin=8)"), ArgumentError);
  EXPECT_THROW(insert(*network, "*", "se+cbam(kernel=4)"), ArgumentError);
  InsertOptions options;
  options.height = -1;
  EXPECT_THROWS_WITH(insert(*network, "*", "se", options), ArgumentError,
                     "[insert] expected an input of height and width >= 0; got -1 x 224");
  EXPECT_EQ(state_of(*network), before);
}

TEST(Insert, none_adds_nothing) {
  const auto network = make_backbone("resnet18", 2);
  EXPECT_EQ(insert(*network, "layer1.*", "none").text(), "0 blocks in, 0 out: 0 parameters\n");
  EXPECT_EQ(keys_with(*network, "attn"), Names{});
}

TEST(Insert, maps_are_filed_under_the_slot) {
  const torch::NoGradGuard no_grad;
  for (const std::string name : {"resnet18", "resnet50", "efficientnet_lite0"}) {
    const auto network = make_backbone(name, 2);
    network->eval();
    for (const Slot& slot : network->slots()) insert(*network, slot->full_name(), "se");
    MapRecorder recorder;
    network->forward(torch::randn({1, 3, 64, 64}));
    std::multiset<std::string> got, expected;
    for (const AttentionMap& map : recorder.maps()) got.insert(map.name);
    for (const Slot& slot : network->slots()) expected.insert(slot->full_name() + ".0/channel");
    EXPECT_EQ(got, expected) << name;
  }
}

TEST(Insert, fills_a_strange_network_too) {
  struct OwnImpl : torch::nn::Module {
    OwnImpl() {
      conv = register_module("conv", torch::nn::Conv2d(3, 8, 3));
      attn = register_module("attn", Slot("attn", 8));
    }
    torch::Tensor forward(const torch::Tensor& x) { return attn(conv(x)); }
    torch::nn::Conv2d conv{nullptr};
    Slot attn{nullptr};
  } own;
  const torch::Tensor x = torch::randn({1, 3, 9, 9});
  const torch::Tensor before = own.forward(x);
  const InsertReport report = insert(own, "attn", "se");
  EXPECT_EQ(report.text(),
            "slot    module                           channels  cells  parameters  MACs  identity\n"
            "attn.0  se(reduction=16, init=identity)         8      ?          26     ?  yes\n"
            "1 block in, 0 out: +26 parameters\n");
  EXPECT_TRUE(to_json(report)["inserted"][0]["macs"].is_null());
  EXPECT_TRUE(torch::equal(own.forward(x), before));
  EXPECT_THROWS_WITH(insert(own, "atn", "se"), ArgumentError,
                     "[insert] no slot of the network matches \"atn\"; nearest of its 1: attn");
  torch::nn::Linear bare(1, 1);
  EXPECT_THROWS_WITH(insert(*bare, "attn", "se"), ArgumentError,
                     "[insert] expected a slot of the network; got none");
}

// A network with every module in every slot that takes it.
class IdentityInsertion : public testing::TestWithParam<std::string> {
 protected:
  // A small module of that name for the slot; empty where the slot has nothing for it to look at.
  static std::string spec_for(const std::string& module, const SlotPlace& place) {
    if (module == "mha") return "mha(heads=2, width=16)";
    if (module != "cross") return module;
    if (place.earlier.empty()) return "";
    return fmt::format("cross(memory={}, heads=2, width=16)", place.earlier.back().name);
  }

  // With golden weights, since in a deep network of random ones gates saturate; only its blocks will learn.
  static std::shared_ptr<Backbone> network(const std::string& name) {
    torch::manual_seed(1);
    auto network = test::golden_network(test::golden_file(name), name);
    for (torch::Tensor& parameter : network->parameters()) parameter.set_requires_grad(false);
    return network;
  }
};

TEST_P(IdentityInsertion, keeps_every_bit_learns_and_moves) {
  const torch::Tensor x = torch::randn({2, 3, 64, 64});
  for (const std::string& module : block_names()) {
    const auto host = network(GetParam());
    const torch::Tensor before = host->forward(x).detach();
    Names filled;
    for (const Slot& slot : host->slots()) {
      const std::string spec = spec_for(module, slot->place());
      if (spec.empty() || slot->layer() != nullptr) continue;
      EXPECT_TRUE(insert(*host, slot->full_name(), spec).identity()) << slot->full_name() << " " << module;
      filled.push_back(slot->full_name());
    }
    EXPECT_GT(filled.size(), 30U);
    const torch::Tensor after = host->forward(x);
    EXPECT_TRUE(torch::equal(after, before)) << module;

    std::vector<torch::Tensor> learning;
    (after * torch::randn_like(after)).sum().backward();
    for (const Slot& slot : host->slots()) {
      for (const auto& block : slot->blocks()) {
        double largest = 0;
        for (const torch::Tensor& parameter : block->parameters()) {
          learning.push_back(parameter);
          if (parameter.grad().defined())
            largest = std::max(largest, parameter.grad().abs().max().item<double>());
        }
        EXPECT_GT(largest, 0) << slot->full_name() << " " << module;
      }
    }
    torch::optim::SGD(learning, 1e-3).step();
    EXPECT_FALSE(torch::equal(host->forward(x), before)) << module;
  }
}

TEST_P(IdentityInsertion, of_one_block_moves_the_output_too) {
  const torch::Tensor x = torch::randn({1, 3, 64, 64});
  const auto host = network(GetParam());
  const torch::Tensor before = host->forward(x).detach();
  const std::string last = host->slots().back()->full_name();
  const std::string block = last.substr(0, last.rfind('.'));
  for (const std::string& module : block_names()) {
    for (const Slot& slot : host->slots()) {
      if (slot->layer() != nullptr) continue;
      if (slot->full_name().rfind(block + ".", 0) != 0 && slot->full_name().rfind("between.", 0) != 0)
        continue;
      const std::string spec = spec_for(module, slot->place());
      if (spec.empty()) continue;
      insert(*host, slot->full_name(), spec);
      const torch::Tensor after = host->forward(x);
      EXPECT_TRUE(torch::equal(after, before)) << slot->full_name() << " " << module;
      after.select(1, 0).sum().backward();
      torch::optim::SGD(slot->parameters(), 1.0).step();
      EXPECT_FALSE(torch::equal(host->forward(x), before)) << slot->full_name() << " " << module;
      remove(*host, slot->full_name());
    }
  }
}

TEST_P(IdentityInsertion, keeps_every_bit_in_training) {
  const torch::NoGradGuard no_grad;
  const auto host = network(GetParam());
  host->train();
  const torch::Tensor x = torch::randn({2, 3, 64, 64});
  torch::manual_seed(2);  // of the dropout before the head
  const torch::Tensor before = host->forward(x);
  insert(*host, "*", "se+cbam");
  torch::manual_seed(2);
  EXPECT_TRUE(torch::equal(host->forward(x), before));
}

INSTANTIATE_TEST_SUITE_P(Networks, IdentityInsertion,
                         testing::Values("resnet18", "resnet50", "efficientnet_lite0"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gaze::models
