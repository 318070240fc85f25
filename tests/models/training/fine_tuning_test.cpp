#include "models/training/fine_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/backbone/insert.h"
#include "models/checkpoint/state_dict.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::ElementsAre;

class FineTuning : public ::testing::Test {
 protected:
  FineTuning() {
    torch::manual_seed(2);
    network_ = make_backbone("resnet18", 3);
    insert(*network_, "layer4.*.attn", "se");
    network_->eval();
  }
  torch::Tensor x_ = torch::randn({2, 3, 64, 64});
  std::shared_ptr<Backbone> network_;
};

TEST_F(FineTuning, a_copy_computes_the_same_and_shares_nothing) {
  const torch::NoGradGuard no_grad;
  const std::shared_ptr<Backbone> copy = copy_of(*network_);
  const torch::Tensor expected = network_->forward(x_);
  EXPECT_TRUE(torch::equal(copy->forward(x_), expected));
  for (torch::Tensor& parameter : copy->parameters()) parameter.fill_(0);
  EXPECT_TRUE(torch::equal(network_->forward(x_), expected));
}

TEST_F(FineTuning, a_new_head_leaves_the_rest) {
  const std::shared_ptr<Backbone> copy = with_new_head(*network_, 7);
  EXPECT_EQ(copy->classes(), 7);
  const StateDict before = state_dict(*network_), after = state_dict(*copy);
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, tensor] : before) {
    if (name == "fc.weight") {
      EXPECT_EQ(after.at(name).sizes(), (std::vector<int64_t>{7, 512}));
      EXPECT_GT(after.at(name).std().item<double>(), 0.01);
    } else if (name != "fc.bias") {
      EXPECT_TRUE(torch::equal(tensor, after.at(name))) << name;
    }
  }
  const auto lite = make_backbone("efficientnet_lite0", 4);
  EXPECT_THAT(head_parameters(*lite), ElementsAre("_fc.weight", "_fc.bias"));
  EXPECT_EQ(with_new_head(*lite, 2)->classes(), 2);
}

TEST_F(FineTuning, parameters_of_blocks_are_found_by_place) {
  EXPECT_THAT(block_parameters(*network_, {"layer4.1.attn.0"}),
              ElementsAre("layer4.1.attn.0.mix", "layer4.1.attn.0.fc1.weight", "layer4.1.attn.0.fc1.bias",
                          "layer4.1.attn.0.fc2.weight", "layer4.1.attn.0.fc2.bias"));
  EXPECT_TRUE(block_parameters(*network_, {}).empty());
  EXPECT_THROWS_WITH(block_parameters(*network_, {"layer4.1.attn.1"}), ArgumentError,
                     "[fine_tuning] expected blocks that are in the network's slots; got layer4.1.attn.1");
}

TEST_F(FineTuning, norms_outside_the_slots_keep_their_statistics) {
  insert(*network_, "layer3.0.attn", "cbam");  // its spatial gate has a norm
  network_->train();
  set_norms_training(*network_, false);
  const StateDict before = state_dict(*network_);
  std::map<std::string, torch::Tensor> copies;
  for (const auto& [name, tensor] : before) copies[name] = tensor.clone();
  network_->forward(x_);
  for (const auto& [name, tensor] : state_dict(*network_)) {
    const bool of_a_slot = name.find(".attn.") != std::string::npos;
    const bool statistics =
        name.find("running_") != std::string::npos || name.find("num_batches") != std::string::npos;
    if (statistics && of_a_slot) {
      EXPECT_FALSE(torch::equal(tensor, copies.at(name))) << name;
    } else {
      EXPECT_TRUE(torch::equal(tensor, copies.at(name))) << name;
    }
  }
  set_norms_training(*network_, true);
  network_->forward(x_);
  EXPECT_FALSE(torch::equal(state_dict(*network_).at("bn1.running_mean"), copies.at("bn1.running_mean")));
}

TEST_F(FineTuning, optimizers_have_groups_by_rate_and_decay) {
  RateOptions options;
  options.quick = {"fc.weight", "fc.bias", "layer4.0.attn.0.mix"};
  options.lr = 0.5;
  options.network_lr = 0.25;
  options.weight_decay = 0.125;
  const auto adamw = make_optimizer(*network_, options);
  ASSERT_EQ(adamw->param_groups().size(), 4U);
  const auto group = [&](size_t i) -> const auto& {
    return adamw->param_groups()[i];
  };
  EXPECT_EQ(group(0).params().size(), 1U);
  EXPECT_EQ(group(1).params().size(), 2U);
  size_t count = 0;
  for (const auto& g : adamw->param_groups()) count += g.params().size();
  EXPECT_EQ(count, network_->parameters().size());
  const double rates[] = {0.5, 0.5, 0.25, 0.25}, decays[] = {0.125, 0, 0.125, 0};
  for (size_t i = 0; i < 4; ++i) {
    const auto& given = static_cast<const torch::optim::AdamWOptions&>(group(i).options());
    EXPECT_EQ(given.lr(), rates[i]);
    EXPECT_EQ(given.weight_decay(), decays[i]);
  }
  options.optimizer = "sgd";
  for (torch::Tensor& parameter : network_->parameters()) parameter.set_requires_grad(false);
  network_->named_parameters()["fc.weight"].set_requires_grad(true);
  const auto sgd = make_optimizer(*network_, options);
  ASSERT_EQ(sgd->param_groups().size(), 1U);
  EXPECT_EQ(static_cast<const torch::optim::SGDOptions&>(sgd->param_groups()[0].options()).momentum(), 0.9);
  network_->named_parameters()["fc.weight"].set_requires_grad(false);
  EXPECT_THROWS_WITH(make_optimizer(*network_, options), ArgumentError,
                     "[fine_tuning] expected a parameter that learns; got only frozen ones");
  options.optimizer = "adam";
  network_->named_parameters()["fc.weight"].set_requires_grad(true);
  EXPECT_THROWS_WITH(make_optimizer(*network_, options), ArgumentError,
                     "[fine_tuning] unknown optimizer \"adam\"; did you mean \"adamw\"? known: adamw, sgd");
}

}  // namespace
}  // namespace gaze::models
