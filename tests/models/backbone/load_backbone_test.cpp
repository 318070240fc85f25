#include "models/backbone/load_backbone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "models/backbone/classifier_file.h"
#include "models/backbone/insert.h"
#include "models/checkpoint/safetensors.h"
#include "modules/core/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

using ::testing::HasSubstr;

class LoadBackbone : public testing::Test {
 protected:
  LoadBackbone() { torch::manual_seed(1); }

  std::string write(const StateDict& state) const {
    const std::filesystem::path path = folder_.path() / "weights.safetensors";
    write_safetensors(path, {state, {}});
    return path.string();
  }

  // A copy that shares no memory with the network.
  static StateDict state_of(const Backbone& network) {
    StateDict state = state_dict(network);
    for (auto& item : state) item.second = item.second.clone();
    return state;
  }

  test::TemporaryFolder folder_;
};

TEST_F(LoadBackbone, weights_make_the_same_network) {
  const torch::NoGradGuard no_grad;
  for (const std::string name : {"resnet18", "efficientnet_lite0"}) {
    const auto network = make_backbone(name, 7);
    network->eval();
    const auto loaded = load_backbone(name, write(state_of(*network)));
    EXPECT_EQ(loaded->classes(), 7);
    EXPECT_FALSE(loaded->is_training());
    const torch::Tensor x = torch::randn({1, 3, 40, 50});
    EXPECT_TRUE(torch::equal(loaded->forward(x), network->forward(x))) << name;
  }
}

// timm's seresnet18: the slot is called "se".
TEST_F(LoadBackbone, weights_of_another_ecosystem_bring_their_blocks) {
  const torch::NoGradGuard no_grad;
  const auto network = make_backbone("resnet18", 5);
  InsertOptions paper;
  paper.init = Init::paper;
  insert(*network, "*.attn", "se", paper);
  network->eval();
  StateDict theirs;
  for (const auto& [key, tensor] : state_of(*network)) {
    const size_t at = key.find(".attn.0.");
    theirs[at == std::string::npos ? key : key.substr(0, at) + ".se." + key.substr(at + 8)] = tensor;
  }
  EXPECT_EQ(theirs.count("layer4.1.se.fc2.bias"), 1U);
  const auto loaded = load_backbone("resnet18", write(theirs));
  const torch::Tensor x = torch::randn({1, 3, 40, 50});
  EXPECT_TRUE(torch::equal(loaded->forward(x), network->forward(x)));
}

TEST_F(LoadBackbone, weights_of_another_network_are_named) {
  const std::string path = write(state_of(*make_backbone("resnet34", 2)));
  EXPECT_THROWS_WITH(
      load_backbone("resnet18", path), FileError,
      path + ": holds the weights of resnet34, not of resnet18; name resnet34 as the backbone");
  EXPECT_THROWS_WITH(
      load_backbone("efficientnet_lite0", path), FileError,
      path + ": holds the weights of resnet34, not of efficientnet_lite0; name resnet34 as the backbone");
  const std::string lite0 = write(state_of(*make_backbone("efficientnet_lite0", 2)));
  EXPECT_THROWS_WITH(
      load_backbone("resnet50", lite0), FileError,
      lite0 +
          ": holds the weights of efficientnet_lite0, not of resnet50; name efficientnet_lite0 as the "
          "backbone");
}

TEST_F(LoadBackbone, one_wrong_shape_is_named) {
  StateDict state = state_of(*make_backbone("resnet18", 2));
  state["layer2.0.conv1.weight"] = torch::zeros({128, 64, 1, 1});
  const std::string path = write(state);
  EXPECT_THROWS_WITH(
      load_backbone("resnet18", path), FileError,
      path +
          ": does not fit resnet18: [load_state_dict] expected the tensors of the module; got others\n"
          "mis-shaped (1): layer2.0.conv1.weight: expected [128, 64, 3, 3], file has [128, 64, 1, 1]; give "
          "weights of resnet18 with the names of torchvision");
}

TEST_F(LoadBackbone, a_missing_and_a_surplus_tensor_are_named) {
  StateDict state = state_of(*make_backbone("resnet18", 2));
  state.erase("bn1.bias");
  state["layer1.0.attn.0.fc1.weight"] = torch::zeros({4, 64});
  try {
    load_backbone("resnet18", write(state));
    FAIL() << "nothing was thrown";
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing (1): bn1.bias"));
    EXPECT_THAT(error.what(), HasSubstr("unexpected (1): layer1.0.attn.0.fc1.weight"));
  }
}

TEST_F(LoadBackbone, a_whole_model_is_no_weights) {
  const std::string path = write({{"backbone.conv1.weight", torch::zeros({1})}});
  EXPECT_THROWS_WITH(
      load_backbone("resnet18", path), FileError,
      path +
          ": does not hold the weights of resnet18 but a whole model; give it as the model, not as weights");
}

ModelFile model_of(const Backbone& network, const std::string& name, const nlohmann::json& slots) {
  ModelFile model;
  model.description = {{"backbone", {{"name", name}, {"stride", 32}}}, {"slots", slots}};
  for (const auto& [key, tensor] : state_dict(network)) model.weights["backbone." + key] = tensor.clone();
  return model;
}

TEST_F(LoadBackbone, a_model_files_network_has_its_blocks) {
  const torch::NoGradGuard no_grad;
  const auto network = make_backbone("efficientnet_lite0", 3);
  InsertOptions paper;
  paper.init = Init::paper;
  insert(*network, "blocks.15.attn", "se+cbam", paper);
  network->eval();
  const auto loaded = load_backbone(
      model_of(*network, "efficientnet_lite0", {{"blocks.15.attn", network->slots().back()->spec()}}));
  const torch::Tensor x = torch::randn({1, 3, 64, 64});
  EXPECT_TRUE(torch::equal(loaded->forward(x), network->forward(x)));
  EXPECT_EQ(loaded->slots().back()->blocks().size(), 2U);
}

TEST_F(LoadBackbone, a_model_files_options_and_convolutions_come_back) {
  const torch::NoGradGuard no_grad;
  BackboneOptions options;
  options.classes = 3;
  options.stride_in_conv1 = options.ceil_pool = true;
  options.dilate = {false, false, true};
  const auto network = make_backbone("resnext50_32x4d", options);
  insert(*network, "layer3.0.conv,between.2", "se(init=paper)+cbam(init=paper)");
  network->eval();
  const ModelFile file =
      classifier_file(*network, network->preprocessing(), {"a", "b", "c"}, {{"recipe", "none"}});
  EXPECT_EQ(file.weights.count("backbone.layer3.0.conv2.weight"), 0U);
  EXPECT_EQ(file.weights.count("backbone.layer3.0.conv.1.spatial.conv.weight"), 1U);
  const std::filesystem::path path = folder_.path() / "model.safetensors";
  write_model_file(path, file);
  const ModelFile read = read_model_file(path);
  EXPECT_EQ(read.description["task"], "classify");
  EXPECT_EQ(read.description["labels"], nlohmann::json({"a", "b", "c"}));
  EXPECT_EQ(read.description["provenance"], nlohmann::json({{"recipe", "none"}}));
  EXPECT_EQ(read.description["backbone"]["stride"], 16);
  const auto loaded = load_backbone(read);
  const torch::Tensor x = torch::randn({1, 3, 65, 66});
  EXPECT_TRUE(torch::equal(loaded->forward(x), network->forward(x)));

  EXPECT_THROWS_WITH(remove(*loaded, "layer3.0.conv"), ArgumentError,
                     "[remove] expected a slot whose layer has weights to go back to; got layer3.0.conv, "
                     "which was loaded without conv2");
  InsertOptions replace;
  replace.replace = true;
  EXPECT_THROWS_WITH(insert(*loaded, "layer3.0.conv", "none", replace), ArgumentError,
                     "[insert] expected a slot whose layer has weights to go back to; got layer3.0.conv, "
                     "which was loaded without conv2");
  EXPECT_TRUE(insert(*loaded, "layer3.0.conv", "se", replace).weights_gone.empty());
  EXPECT_EQ(loaded->named_parameters().contains("layer3.0.conv2.weight"), false);
}

TEST_F(LoadBackbone, a_classifier_of_imagenets_classes_gets_their_names) {
  const auto network = make_backbone("resnet18");
  const ModelFile file = classifier_file(*network, network->preprocessing(), {}, nlohmann::json::object());
  EXPECT_EQ(file.description["labels"][388], "giant panda");
  EXPECT_EQ(file.description["slots"], nlohmann::json::object());
}

TEST_F(LoadBackbone, a_model_file_that_does_not_fit_says_so) {
  const auto network = make_backbone("resnet18", 3);
  EXPECT_THROW(load_backbone(model_of(*network, "resnet34", nlohmann::json::object())), ArgumentError);
  EXPECT_THROW(load_backbone(model_of(*network, "resnet18", {{"layer9.0.attn", "se"}})), ArgumentError);
  EXPECT_THROW(load_backbone(model_of(*network, "resnet18", {{"layer4.0.attn", "se"}})), ArgumentError)
      << "weights missing";
  ModelFile model = model_of(*network, "resnet18", nlohmann::json::object());
  model.description["backbone"]["stride"] = 16;
  EXPECT_THROWS_WITH(load_backbone(model), ArgumentError, "[backbone] expected stride 32; got stride 16");
  model.description["backbone"] = {{"name", "resnet18"}, {"options", {{"classes", "many"}}}};
  EXPECT_THROWS_WITH(load_backbone(model), ArgumentError,
                     "[backbone] expected a whole number of classes; got \"many\"");
  EXPECT_THROWS_WITH(load_backbone(model_of(*network, "resnet18", {{"layer4.*.attn", "se"}})), ArgumentError,
                     "[backbone] expected the name of a slot; got layer4.*.attn");
}

}  // namespace
}  // namespace gaze::models
