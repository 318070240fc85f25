#include "models/checkpoint/export_keys.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/models/checkpoint/golden_networks.h"
#include "tests/support/throws_with.h"

#include "modules/core/error.h"

namespace gaze::models {
namespace {

using nlohmann::json;

MappedNetwork mapped_network(const std::string& name) {
  const json golden = test::golden_network_file(name);
  const size_t prefix = golden.at("prefix").get<std::string>().size();
  StateDict state;
  for (const auto& [key, tensor] : test::golden_state(golden)) state[key.substr(prefix)] = tensor;
  return map_keys(state);
}

NetworkDescription description_of(const MappedNetwork& mapped) {
  return {mapped.plan.backbone, mapped.plan.options, mapped.plan.slots};
}

ExportedNetwork to_timm(const MappedNetwork& mapped) {
  return export_keys(description_of(mapped), mapped.weights, Ecosystem::timm);
}

class RoundTrip : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(RoundTrip, GivesTheFilesOwnNamesAndValues) {
  const json golden = test::golden_network_file(GetParam().first);
  const StateDict state = test::golden_state(golden);
  const ExportedNetwork exported = to_timm(map_keys(state));
  EXPECT_EQ(exported.python, GetParam().second);
  ASSERT_EQ(exported.weights.size(), state.size());
  for (const auto& [name, tensor] : state) {
    ASSERT_EQ(exported.weights.count(name), 1U) << name;
    EXPECT_TRUE(at::equal(exported.weights.at(name), tensor)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Timm, RoundTrip,
    ::testing::Values(std::make_pair("timm_se_resnet18",
                                     "timm.create_model(\"resnet18\", block_args=dict(attn_layer=\"se\"))"),
                      std::make_pair("timm_se_resnet50",
                                     "timm.create_model(\"resnet50\", block_args=dict(attn_layer=\"se\"))"),
                      std::make_pair("timm_cbam_resnet50",
                                     "timm.create_model(\"resnet50\", block_args=dict(attn_layer=\"cbam\"))"),
                      std::make_pair("timm_eca_resnet50",
                                     "timm.create_model(\"resnet50\", block_args=dict(attn_layer=\"eca\"))"),
                      std::make_pair("timm_legacy_seresnet50", "timm.create_model(\"legacy_seresnet50\")")),
    [](const auto& info) { return std::string(info.param.first); });

TEST(ExportKeys, OthersBlocksBecomeTimms) {
  const ExportedNetwork authors = to_timm(mapped_network("authors_cbam_resnet18"));
  EXPECT_EQ(authors.python,
            "timm.create_model(\"resnet18\", "
            "block_args=dict(attn_layer=functools.partial(timm.layers.cbam.CbamModule, "
            "mlp_bias=True)))");
  // As the authors' file has them, but the planes the other way round.
  const json golden = test::golden_network_file("authors_cbam_resnet18");
  const StateDict state = test::golden_state(golden);
  EXPECT_TRUE(at::equal(authors.weights.at("layer1.0.se.spatial.conv.conv.weight"),
                        state.at("module.layer1.0.cbam.SpatialGate.spatial.conv.weight").flip({1})));
  EXPECT_TRUE(at::equal(authors.weights.at("layer1.0.se.channel.fc2.weight").flatten(),
                        state.at("module.layer1.0.cbam.ChannelGate.mlp.3.weight").flatten()));
  EXPECT_EQ(
      to_timm(mapped_network("moskomule_se_resnet18")).python,
      "timm.create_model(\"resnet18\", block_args=dict(attn_layer=functools.partial(timm.layers.SEModule, "
      "rd_divisor=1, bias=False)))");
}

TEST(ExportKeys, OtherRatiosAreTold) {
  MappedNetwork mapped = mapped_network("timm_se_resnet18");
  for (auto& [name, tensor] : mapped.weights) {
    if (name.find("fc1.weight") != std::string::npos)
      tensor = at::zeros({tensor.size(1) / 4, tensor.size(1), 1, 1});
  }
  EXPECT_EQ(
      to_timm(mapped).python,
      "timm.create_model(\"resnet18\", block_args=dict(attn_layer=functools.partial(timm.layers.SEModule, "
      "rd_ratio=128/512)))");
}

TEST(ExportKeys, OrderOfThePlanesThatTheSpecNames) {
  MappedNetwork mapped = mapped_network("timm_cbam_resnet18");
  for (auto& [slot, spec] : mapped.plan.slots) spec = "cbam(bias=false, order=mean_max)";
  EXPECT_TRUE(at::equal(to_timm(mapped).weights.at("layer1.0.se.spatial.conv.conv.weight"),
                        mapped.weights.at("layer1.0.attn.0.spatial.conv.weight")));
}

TEST(ExportKeys, WithoutBlocksBothWriteTorchvisionsNames) {
  MappedNetwork mapped = mapped_network("timm_se_resnet18");
  NetworkDescription network = description_of(mapped);
  network.slots.clear();
  network.options["classes"] = 7;
  StateDict bare;
  for (const auto& [name, tensor] : mapped.weights) {
    if (name.find(".attn.") == std::string::npos && name.find("num_batches") == std::string::npos)
      bare[name] = tensor;
  }
  for (const Ecosystem to : {Ecosystem::torchvision, Ecosystem::timm}) {
    const ExportedNetwork exported = export_keys(network, bare, to);
    EXPECT_EQ(exported.python, to == Ecosystem::timm ? "timm.create_model(\"resnet18\", num_classes=7)"
                                                     : "torchvision.models.resnet18(num_classes=7)");
    EXPECT_EQ(exported.weights.size(), bare.size() + 20) << "a counter for each norm";
    EXPECT_EQ(exported.weights.at("layer4.0.downsample.1.num_batches_tracked").scalar_type(), at::kLong);
    EXPECT_TRUE(at::equal(exported.weights.at("fc.weight"), bare.at("fc.weight")));
  }
  network.options = {{"classes", 1000}, {"dilate", {false, true, true}}};
  EXPECT_EQ(export_keys(network, bare, Ecosystem::torchvision).python,
            "torchvision.models.resnet18(replace_stride_with_dilation=[False, True, True])");
  EXPECT_EQ(export_keys(network, bare, Ecosystem::timm).python,
            "timm.create_model(\"resnet18\", output_stride=8)");
  network.options["dilate"] = {true, true, true};
  EXPECT_THROWS_WITH(export_keys(network, bare, Ecosystem::timm), ArgumentError,
                     "[timm] expected dilation of layer4, or of layer3 and layer4; got [true,true,true]");
}

class Inexpressible : public ::testing::Test {
 protected:
  void expect_error(const std::string& text, Ecosystem to = Ecosystem::timm) {
    EXPECT_THROWS_WITH(export_keys(network_, mapped_.weights, to), ArgumentError, text);
  }

  MappedNetwork mapped_ = mapped_network("timm_se_resnet18");
  NetworkDescription network_ = description_of(mapped_);
};

TEST_F(Inexpressible, Torchvision) {
  network_.slots = {{"layer4.0.attn", "se(hidden=32)"}, {"layer4.1.attn", "se(hidden=32)"}};
  expect_error("[torchvision] expected empty slots; got blocks in layer4.0.attn, layer4.1.attn",
               Ecosystem::torchvision);
  network_.slots.clear();
  network_.options["ceil_pool"] = true;
  expect_error("[torchvision] expected a network without ceil_pool; got one with it", Ecosystem::torchvision);
  network_.backbone = "efficientnet_lite0";
  expect_error("[torchvision] expected a ResNet, ResNeXt or wide ResNet; got efficientnet_lite0",
               Ecosystem::torchvision);
}

TEST_F(Inexpressible, OtherSlotsAndBlocks) {
  network_.slots["layer3.0.pre"] = "se(hidden=32)";
  expect_error(
      "[timm] expected one block of se, cbam or eca in the slots attn; got se(hidden=32) in layer3.0.pre");
  network_.slots.erase("layer3.0.pre");
  network_.slots["layer3.0.attn"] = "se(hidden=32)+eca(kernel=3)";
  network_.slots["layer3.1.attn"] = "cam(hidden=32)";
  expect_error(
      "[timm] expected one block of se, cbam or eca in the slots attn; got se(hidden=32)+eca(kernel=3) in "
      "layer3.0.attn, cam(hidden=32) in layer3.1.attn");
  network_.slots.erase("layer3.0.attn");
  network_.slots["layer3.1.attn"] = "eca(kernel=3)";
  expect_error(
      "[timm] expected se in the slot attn of every residual block; got none in layer3.0.attn, eca(kernel=3) "
      "in "
      "layer3.1.attn");
}

TEST_F(Inexpressible, MixAndWidths) {
  mapped_.weights["layer2.0.attn.0.mix"] = at::zeros({});
  expect_error(
      "[timm] expected gates without the scalar of init=identity; got se(hidden=8) in layer2.0.attn");
  mapped_.weights.erase("layer2.0.attn.0.mix");
  mapped_.weights["layer2.0.attn.0.fc1.weight"] = at::zeros({5, 128, 1, 1});
  network_.slots["layer2.0.attn"] = "se(hidden=5)";
  expect_error(
      "[timm] expected hidden widths of 1/16 of the channels in multiples of 8; got se(hidden=5) in "
      "layer2.0.attn");
  mapped_ = mapped_network("timm_se_resnet18");
  network_ = description_of(mapped_);
  mapped_.weights.erase("layer2.0.attn.0.fc1.bias");
  expect_error("[timm] expected blocks with bias, as the first has it; got se(hidden=8) in layer2.0.attn");
}

TEST_F(Inexpressible, CbamWithoutNormAndEcaKernels) {
  mapped_ = mapped_network("luuuyi_cbam_resnet18");
  network_ = description_of(mapped_);
  const std::string spec = "cbam(bias=false, hidden=4, kernel=7, norm=false) in layer1.";
  expect_error("[timm] expected cbam with its norm; got " + spec + "0.attn, " + spec +
               "1.attn, cbam(bias=false, hidden=8, kernel=7, norm=false) in layer2.0.attn, cbam(bias=false, "
               "hidden=8, kernel=7, norm=false) in layer2.1.attn and 4 more");
  mapped_ = mapped_network("timm_eca_resnet50");
  network_ = description_of(mapped_);
  mapped_.weights["layer1.0.attn.0.conv.weight"] = at::zeros({1, 1, 3});
  network_.slots["layer1.0.attn"] = "eca(kernel=3)";
  expect_error(
      "[timm] expected the kernels that follow from the channels; got eca(kernel=3) in layer1.0.attn");
}

TEST_F(Inexpressible, CaffeBornWithoutSe) {
  network_.slots.clear();
  for (auto item = mapped_.weights.begin(); item != mapped_.weights.end();)
    item = item->first.find(".attn.") != std::string::npos ? mapped_.weights.erase(item) : std::next(item);
  network_.options["ceil_pool"] = true;
  expect_error(
      "[timm] expected with ceil_pool or stride_in_conv1 a network like its legacy_se*: se(reduction=16) in "
      "the "
      "slot attn of every residual block, ceil_pool, stride_in_conv1 in bottlenecks without groups; got "
      "resnet18 "
      "{\"ceil_pool\":true,\"classes\":1000} with empty slots");
}

}  // namespace
}  // namespace gaze::models
