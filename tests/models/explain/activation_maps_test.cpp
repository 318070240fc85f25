#include "models/explain/activation_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "models/backbone/resnet.h"
#include "modules/core/error.h"
#include "tests/support/near.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

std::shared_ptr<Backbone> network(const std::string& name) {
  torch::manual_seed(3);
  auto network = make_backbone(name, 5);
  network->eval();
  return network;
}

Scores classes(Backbone& network, std::vector<int64_t> which) {
  return [&network, which](const torch::Tensor& x) {
    return network.forward(x).index_select(1, torch::tensor(which));
  };
}

// The score is the mean over cells of a linear function of the last stage: the gradient in every cell is the
// class's weights over the number of cells, so that both maps are the class's own evidence, over it, too.
TEST(ActivationMaps, of_the_last_stage_are_the_class_s_evidence) {
  for (const char* name : {"resnet18", "efficientnet_lite0"}) {
    const auto net = network(name);
    const torch::Tensor x = torch::randn({1, 3, 64, 96});
    const torch::NoGradGuard no_grad;
    const torch::Tensor evidence =
        net->class_evidence(x)[0] -
        net->classify(torch::zeros({net->channels()})).view({-1, 1, 1});  // [5, 2, 3]
    for (const Cam cam : {Cam::gradcam, Cam::hirescam}) {
      const ActivationMaps found = activation_maps(classes(*net, {4, 1}), x, net->last_stage(), cam);
      test::expect_near(found.maps[0], evidence[4] / 6, 1e-5, name);
      test::expect_near(found.maps[1], evidence[1] / 6, 1e-5, name);
      test::expect_near(found.scores, net->forward(x)[0].index_select(0, torch::tensor({4, 1})), 1e-5, name);
    }
  }
}

// Against the slope of the score, by moving the activation: HiRes-CAM's sum over cells is sum dy/dA A, the
// derivative of the score where the activation is scaled.
TEST(ActivationMaps, of_an_inner_layer_are_its_gradient) {
  const auto net = network("resnet18");
  const torch::Tensor x = torch::randn({1, 3, 64, 64});
  const torch::Tensor map = activation_maps(classes(*net, {2}), x, "layer4.0", Cam::hirescam).maps[0];
  const auto scaled = [&](double scale) {
    // the score where layer4.1 reads more or less of what layer4.0 gives
    const torch::NoGradGuard no_grad;
    const ActivationTap tap({"layer4.0"});
    net->forward(x);
    torch::Tensor y = tap.value("layer4.0").detach() * scale;
    const auto& block = net->named_modules()["layer4.1"];
    y = block->as<ResidualBlockImpl>()->forward(y);
    return net->classify(y.mean({2, 3}))[0][2].item<double>();
  };
  EXPECT_NEAR(map.sum().item<double>(), (scaled(1.01) - scaled(0.99)) / 0.02,
              2e-2 * map.abs().sum().item<double>());
}

TEST(ActivationMaps, leave_gradients_and_outputs_as_they_are) {
  const auto net = network("resnet18");
  const torch::Tensor x = torch::randn({1, 3, 64, 64});
  const torch::Tensor before = net->forward(x).detach();
  activation_maps(classes(*net, {0}), x, "layer2.1", Cam::gradcam);
  for (const auto& item : net->named_parameters()) EXPECT_FALSE(item.value().grad().defined()) << item.key();
  EXPECT_TRUE(net->forward(x).equal(before));
}

TEST(ActivationMaps, layers_have_names_and_shapes) {
  const auto net = network("resnet18");
  std::vector<std::string> names;
  for (const TappedPlace& place : layers_of(*net, torch::zeros({1, 3, 64, 96}))) {
    names.push_back(place.name);
    if (place.name == "layer3") EXPECT_THAT(place.shape, ::testing::ElementsAre(1, 256, 4, 6));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("stem", "layer1.0", "layer1.1", "layer1", "layer2.0", "layer2.1",
                                            "layer2", "layer3.0", "layer3.1", "layer3", "layer4.0",
                                            "layer4.1", "layer4"));
  const torch::Tensor x = torch::zeros({1, 3, 64, 64});
  EXPECT_THAT([&] { activation_maps(classes(*net, {0}), x, "layer4.2", Cam::gradcam); },
              ::testing::ThrowsMessage<ArgumentError>(
                  ::testing::HasSubstr("[explain] unknown layer \"layer4.2\"; did you mean \"layer4.")));
  const auto constant = [&](const torch::Tensor& picture) {
    net->forward(picture);
    return torch::ones({1, 1});
  };
  EXPECT_THROWS_WITH(activation_maps(constant, x, "layer4", Cam::gradcam), ArgumentError,
                     "[explain] expected a layer that the scores depend on; got layer4");
}

}  // namespace
}  // namespace gaze::models
