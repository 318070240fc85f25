#include "models/checkpoint/key_map.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "tests/models/checkpoint/golden.h"
#include "tests/models/checkpoint/golden_networks.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "models/checkpoint/model_file.h"
#include "models/checkpoint/safetensors.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

using nlohmann::json;
using Change = KeyPlan::Change;

TensorSummaries tensors_of(const std::string& name) {
  return test::golden_summaries(test::golden_network_file(name));
}

KeyPlan::Move move_of(const KeyPlan& plan, const std::string& from) {
  for (const KeyPlan::Move& move : plan.moves) {
    if (move.from == from) return move;
  }
  return {};
}

void expect_move(const KeyPlan& plan, const std::string& from, const std::string& to, Change change) {
  EXPECT_EQ(move_of(plan, from).to, to);
  EXPECT_EQ(move_of(plan, from).change, change) << from;
}

TEST(PlanKeys, TimmWithSe) {
  const KeyPlan plan = plan_keys(tensors_of("timm_se_resnet50"));
  EXPECT_EQ(plan.network(), "timm resnet50 with se in 16 slots");
  EXPECT_EQ(plan.backbone, "resnet50");
  EXPECT_EQ(plan.options, json({{"classes", 1000}}));
  ASSERT_EQ(plan.slots.size(), 16U);
  EXPECT_EQ(plan.slots.at("layer1.0.attn"), "se(hidden=16)");
  EXPECT_EQ(plan.slots.at("layer4.2.attn"), "se(hidden=128)");
  expect_move(plan, "layer3.5.se.fc1.bias", "layer3.5.attn.0.fc1.bias", Change::none);
  expect_move(plan, "layer3.0.downsample.1.running_var", "layer3.0.downsample.1.running_var", Change::none);
  EXPECT_EQ(plan.moves.size(), tensors_of("timm_se_resnet50").size());
  // timm rounds the hidden width to multiples of 8: 64 channels have 8, not 4.
  EXPECT_EQ(plan_keys(tensors_of("timm_se_resnet18")).slots.at("layer1.0.attn"), "se(hidden=8)");
}

TEST(PlanKeys, TimmWithCbamSwapsThePlanes) {
  const KeyPlan plan = plan_keys(tensors_of("timm_cbam_resnet18"));
  EXPECT_EQ(plan.network(), "timm resnet18 with cbam in 8 slots");
  EXPECT_EQ(plan.slots.at("layer1.0.attn"), "cbam(bias=false, hidden=4, kernel=7)");
  expect_move(plan, "layer2.1.se.spatial.conv.conv.weight", "layer2.1.attn.0.spatial.conv.weight",
              Change::swap_planes);
  expect_move(plan, "layer2.1.se.spatial.conv.bn.bias", "layer2.1.attn.0.spatial.bn.bias", Change::none);
  expect_move(plan, "layer2.1.se.channel.fc2.weight", "layer2.1.attn.0.channel.fc2.weight", Change::none);
}

TEST(PlanKeys, EcaKernelsAreReadFromTheTensors) {
  TensorSummaries tensors = tensors_of("timm_eca_resnet50");
  KeyPlan plan = plan_keys(tensors);
  EXPECT_EQ(plan.network(), "timm resnet50 with eca in 16 slots");
  EXPECT_EQ(plan.slots.at("layer1.0.attn"), "eca(kernel=5)");
  EXPECT_EQ(plan.slots.at("layer4.0.attn"), "eca(kernel=7)");
  // As ECANet names it and as its files have it: 3, 5, 5, 7.
  for (const auto& [name, tensor] : TensorSummaries(tensors)) {
    const size_t at = name.find(".se.conv.");
    if (at == std::string::npos) continue;
    tensors.erase(name);
    tensors[name.substr(0, at) + ".eca.conv.weight"] = {at::kFloat, {1, 1, name[5] == '1' ? 3 : 5}};
  }
  plan = plan_keys(tensors);
  EXPECT_EQ(plan.network(), "ECANet resnet50 with eca in 16 slots");
  EXPECT_EQ(plan.slots.at("layer1.0.attn"), "eca(kernel=3)");
  expect_move(plan, "layer1.0.eca.conv.weight", "layer1.0.attn.0.conv.weight", Change::none);
}

TEST(PlanKeys, TheAuthorsCbam) {
  const KeyPlan plan = plan_keys(tensors_of("authors_cbam_resnet50"));
  EXPECT_EQ(plan.network(), "the authors' CBAM resnet50 with cbam in 16 slots");
  EXPECT_EQ(plan.slots.at("layer2.0.attn"), "cbam(hidden=32, kernel=7)");
  const std::string there = "layer2.0.cbam.ChannelGate.mlp.", here = "layer2.0.attn.0.channel.";
  expect_move(plan, there + "1.weight", here + "fc1.weight", Change::to_convolution);
  expect_move(plan, there + "1.bias", here + "fc1.bias", Change::none);
  expect_move(plan, there + "3.weight", here + "fc2.weight", Change::to_convolution);
  expect_move(plan, "layer2.0.cbam.SpatialGate.spatial.conv.weight", "layer2.0.attn.0.spatial.conv.weight",
              Change::none);
  expect_move(plan, "layer2.0.cbam.SpatialGate.spatial.bn.running_mean",
              "layer2.0.attn.0.spatial.bn.running_mean", Change::none);
}

TEST(PlanKeys, PortsOfCbamAndSe) {
  const KeyPlan luuuyi = plan_keys(tensors_of("luuuyi_cbam_resnet18"));
  EXPECT_EQ(luuuyi.network(), "luuuyi's CBAM resnet18 with cbam in 8 slots");
  EXPECT_EQ(luuuyi.slots.at("layer4.1.attn"), "cbam(bias=false, hidden=32, kernel=7, norm=false)");
  expect_move(luuuyi, "layer1.0.ca.fc.2.weight", "layer1.0.attn.0.channel.fc2.weight", Change::none);
  expect_move(luuuyi, "layer1.0.sa.conv1.weight", "layer1.0.attn.0.spatial.conv.weight", Change::swap_planes);

  TensorSummaries tensors = tensors_of("moskomule_se_resnet18");
  const KeyPlan moskomule = plan_keys(tensors);
  EXPECT_EQ(moskomule.network(), "moskomule's SE resnet18 with se in 8 slots");
  EXPECT_EQ(moskomule.slots.at("layer1.0.attn"), "se(bias=false, hidden=4)");
  expect_move(moskomule, "layer1.0.se.fc.0.weight", "layer1.0.attn.0.fc1.weight", Change::to_convolution);
  // Old files of it have biases.
  for (const int fc : {0, 2}) {
    tensors["layer1.0.se.fc." + std::to_string(fc) + ".bias"] = {at::kFloat, {fc == 0 ? 4 : 64}};
  }
  EXPECT_EQ(plan_keys(tensors).slots.at("layer1.0.attn"), "se(hidden=4)");
  expect_move(plan_keys(tensors), "layer1.0.se.fc.2.bias", "layer1.0.attn.0.fc2.bias", Change::none);
}

TEST(PlanKeys, CaffeBornNetworks) {
  const KeyPlan deep = plan_keys(tensors_of("timm_legacy_seresnet50"));
  EXPECT_EQ(deep.network(), "Cadene's SE (timm legacy) resnet50 with se in 16 slots");
  EXPECT_EQ(deep.options, json({{"classes", 1000}, {"ceil_pool", true}, {"stride_in_conv1", true}}));
  expect_move(deep, "layer0.conv1.weight", "conv1.weight", Change::none);
  expect_move(deep, "layer0.bn1.running_mean", "bn1.running_mean", Change::none);
  expect_move(deep, "last_linear.bias", "fc.bias", Change::none);
  expect_move(deep, "layer1.2.se_module.fc2.bias", "layer1.2.attn.0.fc2.bias", Change::none);
  // Its basic blocks compute something else.
  EXPECT_THROWS_WITH(
      plan_keys(tensors_of("timm_legacy_seresnet18")), ArgumentError,
      "[key_map] expected bottlenecks in a network with a layer0; got basic blocks, whose branch "
      "timm ends with a ReLU before SE");
}

TEST(PlanKeys, PrefixesAndProfilersCounters) {
  TensorSummaries tensors;
  for (const auto& [name, tensor] : tensors_of("timm_se_resnet18")) tensors["encoder.net." + name] = tensor;
  tensors["encoder.net.layer1.0.conv1.total_ops"] = {at::kDouble, {1}};
  tensors["total_params"] = {at::kDouble, {1}};
  const KeyPlan plan = plan_keys(tensors);
  EXPECT_EQ(plan.network(), "timm resnet18 with se in 8 slots under \"encoder.net.\"");
  expect_move(plan, "encoder.net.fc.bias", "fc.bias", Change::none);
  EXPECT_EQ(plan.dropped, (std::vector<std::string>{"encoder.net.layer1.0.conv1.total_ops", "total_params"}));
}

TEST(PlanKeys, SaysWhatItDoesNotKnow) {
  const auto expect_error = [](TensorSummaries tensors, const std::vector<std::string>& more,
                               const std::string& text) {
    for (const std::string& name : more) tensors[name] = {at::kFloat, {8, 8}};
    EXPECT_THROWS_WITH(plan_keys(tensors), ArgumentError, "[key_map] expected " + text);
  };
  const TensorSummaries se = tensors_of("timm_se_resnet18");
  expect_error({}, {"a", "b", "c", "d", "e", "f"},
               "tensors of a ResNet or of EfficientNet-Lite0; got a, b, c, d and 2 more");
  expect_error(
      se, {"bam1.channel_att.gate_c.gate_c_fc_0.weight"},
      "the tensors of a resnet18; got also bam1.channel_att.gate_c.gate_c_fc_0.weight (BAM between the "
      "stages)");
  expect_error(se, {"conv1.0.weight"},
               "the tensors of a resnet18; got also conv1.0.weight (a stem of several convolutions)");
  expect_error(se, {"layer1.0.se.bn.weight"},
               "the tensors of a resnet18; got also layer1.0.se.bn.weight (a norm inside SE)");
  expect_error(se, {"layer1.0.eca.conv.weight"}, "names of one ecosystem; got those of ECANet and timm");
  expect_error(se, {"fc.1.weight"},
               "the tensors of a resnet18; got also fc.1.weight (a head or a gate of other layers)");
  expect_error(se, {"layer1.0.se.fc1.weight_orig"},
               "the tensors of a resnet18; got also layer1.0.se.fc1.weight_orig");
  expect_error(se, {"rpn.weight"}, "the tensors of a resnet18; got also rpn.weight");
  expect_error(
      se, {"layer1.0.attn.0.fc1.weight"},
      "the tensors of a resnet18; got also layer1.0.attn.0.fc1.weight (blocks by gaze's names, whose "
      "specs only a model file holds)");
  TensorSummaries half = tensors_of("timm_cbam_resnet18");
  half.erase("layer3.0.se.spatial.conv.conv.weight");
  expect_error(half, {}, "the tensors of a resnet18; got also an incomplete block in layer3.0.attn");
}

TEST(MapKeys, ChangesTheTensorsAsPlanned) {
  const nlohmann::json golden = test::golden_network_file("timm_cbam_resnet18");
  const StateDict state = test::golden_state(golden);
  const MappedNetwork mapped = map_keys(state);
  const at::Tensor there = state.at("layer1.0.se.spatial.conv.conv.weight");
  const at::Tensor here = mapped.weights.at("layer1.0.attn.0.spatial.conv.weight");
  EXPECT_TRUE(at::equal(here.select(1, 0), there.select(1, 1)));
  EXPECT_TRUE(at::equal(here.select(1, 1), there.select(1, 0)));
  EXPECT_FALSE(at::equal(here, there));

  StateDict port = test::golden_state(test::golden_network_file("moskomule_se_resnet18"));
  StateDict bare;
  for (const auto& [name, tensor] : port) bare[name.substr(7)] = tensor.to(at::kHalf);
  const at::Tensor linear = bare.at("layer1.0.se.fc.0.weight");
  const at::Tensor convolution = map_keys(bare).weights.at("layer1.0.attn.0.fc1.weight");
  EXPECT_EQ(convolution.sizes().vec(), (std::vector<int64_t>{4, 64, 1, 1}));
  EXPECT_EQ(convolution.scalar_type(), at::kHalf);
  EXPECT_TRUE(at::equal(convolution.reshape({4, 64}), linear));
}

TEST(MapKeys, RefusesTwoTensorsOfOneName) {
  StateDict state = test::golden_state(test::golden_network_file("timm_se_resnet18"));
  state["last_linear.bias"] = at::zeros({1000});
  EXPECT_THROWS_WITH(
      map_keys(state), ArgumentError,
      "[key_map] expected every tensor once; got two for fc.bias, one of them last_linear.bias");
}

TEST(ReadNetwork, FileErrorsNameTheFile) {
  test::TemporaryFolder folder;
  const std::string path = (folder.path() / "w.safetensors").string();
  write_safetensors(path, {{{"a", at::zeros({2})}}, {}});
  EXPECT_THROWS_WITH(read_network(path), FileError,
                     path +
                         ": holds no network gaze knows: [key_map] expected tensors of a ResNet or of "
                         "EfficientNet-Lite0; got a; see its names with gaze inspect --keys");
  write_model_file(path,
                   {{{"task", "classify"}, {"backbone", {{"name", "x"}}}, {"preprocessing", json::object()}},
                    {{"backbone.a", at::ones({2})}}});
  EXPECT_THROWS_WITH(read_network(path), FileError,
                     path + ": is a model file of gaze, not a checkpoint; give it as the model");
}

TEST(KeyReport, SaysWhatWasDone) {
  TensorSummaries tensors = tensors_of("luuuyi_cbam_resnet18");
  tensors["total_ops"] = {at::kDouble, {1}};
  EXPECT_EQ(report_text(plan_keys(tensors)),
            "recognised: luuuyi's CBAM resnet18 with cbam in 8 slots\n"
            "renamed (24): layer1.0.ca.fc.0.weight -> layer1.0.attn.0.channel.fc1.weight, "
            "layer1.0.ca.fc.2.weight -> layer1.0.attn.0.channel.fc2.weight, layer1.0.sa.conv1.weight -> "
            "layer1.0.attn.0.spatial.conv.weight, layer1.1.ca.fc.0.weight -> "
            "layer1.1.attn.0.channel.fc1.weight and 20 more\n"
            "planes swapped (8): layer1.0.attn.0.spatial.conv.weight, layer1.1.attn.0.spatial.conv.weight, "
            "layer2.0.attn.0.spatial.conv.weight, layer2.1.attn.0.spatial.conv.weight and 4 more\n"
            "dropped (1): total_ops");
  const json report = report_json(plan_keys(tensors));
  EXPECT_EQ(report["renamed"].size(), 24U);
  EXPECT_EQ(report["renamed"]["layer1.0.ca.fc.0.weight"], "layer1.0.attn.0.channel.fc1.weight");
  EXPECT_EQ(report["swapped"].size(), 8U);
  EXPECT_EQ(report["reshaped"].size(), 0U);
  EXPECT_EQ(report["dropped"], json({"total_ops"}));
  EXPECT_EQ(report["slots"]["layer1.0.attn"], "cbam(bias=false, hidden=4, kernel=7, norm=false)");
  EXPECT_EQ(report_json(plan_keys(tensors_of("moskomule_se_resnet18")))["reshaped"].size(), 16U);
}

}  // namespace
}  // namespace gaze::models
