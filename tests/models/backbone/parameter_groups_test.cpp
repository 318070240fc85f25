#include "models/backbone/parameter_groups.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/backbone/backbone.h"
#include "models/backbone/insert.h"
#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

std::shared_ptr<Backbone> network_with_se() {
  auto network = make_backbone("resnet18", 2);
  insert(*network, "layer4.*.attn", "se");
  return network;
}

TEST(Freeze, stops_what_matches_and_unfreeze_undoes_it) {
  const auto network = network_with_se();
  EXPECT_EQ(freeze(*network, "*").size(), network->parameters().size());
  const std::vector<std::string> names = unfreeze(*network, "*.attn.*,fc.*");
  EXPECT_EQ(names.size(), 2U * 5 + 2);
  EXPECT_EQ(names.front(), "layer4.0.attn.0.mix");
  EXPECT_EQ(names.back(), "fc.bias");
  for (const auto& item : network->named_parameters()) {
    const bool learns = item.key().find(".attn.") != std::string::npos || item.key().rfind("fc.", 0) == 0;
    EXPECT_EQ(item.value().requires_grad(), learns) << item.key();
  }
}

TEST(Freeze, no_match_names_the_nearest) {
  const auto network = network_with_se();
  EXPECT_THROWS_WITH(freeze(*network, "fc.wieght"), ArgumentError,
                     "[freeze] no parameter matches \"fc.wieght\"; nearest of its 72: fc.weight, bn1.weight, "
                     "fc.bias");
}

TEST(ParameterGroups, each_parameter_is_in_the_first_group_that_matches) {
  const auto network = network_with_se();
  freeze(*network, "conv1.*");
  const torch::optim::AdamWOptions defaults = torch::optim::AdamWOptions(1).weight_decay(0.25);
  const auto groups =
      parameter_groups(*network, {{"*.attn.*", 1e-2}, {"*.attn.*.weight,fc.*", 1e-3}, {"*", 1e-4}}, defaults);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].params().size(), 2U * 5);
  EXPECT_EQ(groups[1].params().size(), 2U) << "what an earlier pattern took is not taken twice";
  EXPECT_EQ(groups[2].params().size(), network->parameters().size() - 10 - 2 - 1) << "and nothing frozen";
  EXPECT_EQ(groups[0].options().get_lr(), 1e-2);
  EXPECT_EQ(groups[2].options().get_lr(), 1e-4);
  EXPECT_EQ(static_cast<const torch::optim::AdamWOptions&>(groups[1].options()).weight_decay(), 0.25);
}

TEST(ParameterGroups, move_each_at_its_own_rate) {
  const auto network = network_with_se();
  torch::optim::SGD optimizer(
      parameter_groups(*network, {{"fc.bias", 0.5}, {"fc.weight", 0}}, torch::optim::SGDOptions(1)),
      torch::optim::SGDOptions(1));
  const auto parameters = network->named_parameters();
  const torch::Tensor bias = parameters["fc.bias"].clone(), weight = parameters["fc.weight"].clone();
  const torch::Tensor conv = parameters["conv1.weight"].clone();
  for (const torch::Tensor& parameter : network->parameters())
    parameter.mutable_grad() = torch::ones_like(parameter);
  optimizer.step();
  EXPECT_TRUE(torch::equal(network->named_parameters()["fc.bias"], bias - 0.5));
  EXPECT_TRUE(torch::equal(network->named_parameters()["fc.weight"], weight));
  EXPECT_TRUE(torch::equal(network->named_parameters()["conv1.weight"], conv)) << "in no group";
}

TEST(ParameterGroups, mistakes_are_named) {
  const auto network = network_with_se();
  const torch::optim::SGDOptions defaults(1);
  EXPECT_THROWS_WITH(parameter_groups(*network, {{"*", -1}}, defaults), ArgumentError,
                     "[parameter_groups] expected lr >= 0; got lr -1");
  EXPECT_THROWS_WITH(parameter_groups(*network, {{"fc.weights", 1}}, defaults), ArgumentError,
                     "[parameter_groups] no parameter matches \"fc.weights\"; nearest of its 72: fc.weight, "
                     "bn1.weight, fc.bias");
  freeze(*network, "*");
  EXPECT_THROWS_WITH(parameter_groups(*network, {{"*", 1}}, defaults), ArgumentError,
                     "[parameter_groups] expected a parameter that learns; got only frozen ones");
}

}  // namespace
}  // namespace gaze::models
