#include "models/backbone/load_backbone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  network->fill("blocks.15.attn", "se+cbam", Init::paper);
  network->eval();
  const auto loaded = load_backbone(
      model_of(*network, "efficientnet_lite0", {{"blocks.15.attn", network->slots().back()->spec()}}));
  const torch::Tensor x = torch::randn({1, 3, 64, 64});
  EXPECT_TRUE(torch::equal(loaded->forward(x), network->forward(x)));
  EXPECT_EQ(loaded->slots().back()->blocks().size(), 2U);
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
}

}  // namespace
}  // namespace gaze::models
