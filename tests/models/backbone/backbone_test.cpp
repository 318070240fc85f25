#include "models/backbone/backbone.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include "modules/core/error.h"
#include "tests/support/throws_with.h"

namespace gaze::models {
namespace {

TEST(Backbone, unknown_names_list_the_known) {
  EXPECT_THROWS_WITH(make_backbone("resnet5O"), ArgumentError,
                     "[backbone] unknown network \"resnet5O\"; did you mean \"resnet50\"? known: resnet18, "
                     "resnet34, resnet50, resnet101, resnet152, resnext50_32x4d, resnext101_32x8d, "
                     "resnext101_64x4d, wide_resnet50_2, wide_resnet101_2, efficientnet_lite0");
  EXPECT_THROWS_WITH(make_backbone("resnet18", -1), ArgumentError,
                     "[backbone] expected classes >= 0; got classes -1");
  EXPECT_THROWS_WITH(make_backbone("efficientnet_lite0", 0), ArgumentError,
                     "[backbone] expected classes >= 1; got classes 0");
}

TEST(Backbone, without_classes_has_stages_and_no_head) {
  const auto network = make_backbone("resnet18", 0);
  EXPECT_EQ(network->channels(), 512);
  EXPECT_EQ(network->named_parameters().contains("fc.weight"), false);
  const torch::NoGradGuard no_grad;
  network->eval();
  const torch::Tensor x = torch::zeros({1, 3, 64, 32});
  EXPECT_EQ(network->stages(x).back().value.sizes(), (std::vector<int64_t>{1, 512, 2, 1}));
  EXPECT_THROWS_WITH(network->forward(x), ArgumentError,
                     "[resnet18] expected a network with a class head; got one with 0 classes");
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

TEST(Backbone, has_the_published_number_of_parameters) {
  const auto count = [](const char* name) {
    int64_t sum = 0;
    for (const torch::Tensor& parameter : make_backbone(name)->parameters()) sum += parameter.numel();
    return sum;
  };
  EXPECT_EQ(count("resnet18"), 11689512);
  EXPECT_EQ(count("resnet34"), 21797672);
  EXPECT_EQ(count("resnet50"), 25557032);
  EXPECT_EQ(count("resnet101"), 44549160);
  EXPECT_EQ(count("resnet152"), 60192808);
  EXPECT_EQ(count("resnext50_32x4d"), 25028904);
  EXPECT_EQ(count("resnext101_32x8d"), 88791336);
  EXPECT_EQ(count("resnext101_64x4d"), 83455272);
  EXPECT_EQ(count("wide_resnet50_2"), 68883240);
  EXPECT_EQ(count("wide_resnet101_2"), 126886696);
}

TEST(Backbone, ceil_pool_takes_any_size) {
  const torch::NoGradGuard no_grad;
  BackboneOptions options;
  options.classes = 2;
  options.ceil_pool = true;
  const auto network = make_backbone("resnet18", options);
  network->eval();
  for (const int64_t size : {1, 2, 3, 5, 6, 7, 9, 33, 34, 35}) {
    const std::vector<StageFeature> stages = network->stages(torch::zeros({1, 3, size, 2 * size}));
    EXPECT_EQ(stages[0].value.size(2), network->cells(size, 4)) << size;
    EXPECT_EQ(stages[3].value.size(3), network->cells(2 * size, 32)) << size;
  }
  EXPECT_EQ(network->cells(225, 4), 56) << "a stem of 113 cells";
  EXPECT_EQ(make_backbone("resnet18", 2)->cells(225, 4), 57);
}

TEST(Backbone, dilation_keeps_the_stride) {
  const torch::NoGradGuard no_grad;
  BackboneOptions options;
  options.classes = 2;
  options.dilate = {false, true, true};
  const auto network = make_backbone("resnet50", options);
  network->eval();
  EXPECT_EQ(network->stride(), 8);
  EXPECT_EQ(network->stages(torch::zeros({1, 3, 65, 64})).back().value.sizes().vec(),
            (std::vector<int64_t>{1, 2048, 9, 8}));
  EXPECT_EQ(network->slots().back()->place().step, 8);
}

TEST(BackboneOptions, come_back_from_json) {
  BackboneOptions options;
  options.classes = 7;
  EXPECT_EQ(to_json(options), nlohmann::json({{"classes", 7}}));
  options.stride_in_conv1 = options.ceil_pool = true;
  options.dilate = {false, false, true};
  const nlohmann::json json = {
      {"classes", 7}, {"stride_in_conv1", true}, {"ceil_pool", true}, {"dilate", {false, false, true}}};
  EXPECT_EQ(to_json(options), json);
  EXPECT_EQ(to_json(backbone_options_from_json(json)), json);
  EXPECT_EQ(to_json(backbone_options_from_json(nlohmann::json::object())),
            nlohmann::json({{"classes", 1000}}));
}

TEST(BackboneOptions, that_do_not_fit_are_refused) {
  using nlohmann::json;
  const auto expect = [](const json& given, const std::string& text) {
    EXPECT_THROWS_WITH(backbone_options_from_json(given), ArgumentError, "[backbone] " + text);
  };
  expect(json::array(), "expected options as a JSON object; got []");
  expect({{"classes", 1.5}}, "expected a whole number of classes; got 1.5");
  expect({{"ceil_pool", 1}}, "expected ceil_pool true or false; got 1");
  expect({{"dilate", {true}}}, "expected dilate as three of true and false; got [true]");
  expect({{"dilate", {0, 0, 1}}}, "expected dilate as three of true and false; got [0,0,1]");
  expect({{"dilation", true}},
         "unknown option \"dilation\"; known: classes, stride_in_conv1, ceil_pool, dilate");
  BackboneOptions options;
  options.dilate[2] = true;
  EXPECT_THROWS_WITH(make_backbone("resnet34", options), ArgumentError,
                     "[backbone] expected neither dilate nor stride_in_conv1 for resnet34, which has no "
                     "bottlenecks; got {\"classes\":1000,\"dilate\":[false,false,true]}");
  EXPECT_THROWS_WITH(make_backbone("efficientnet_lite0", options), ArgumentError,
                     "[backbone] expected no options but classes for efficientnet_lite0; got "
                     "{\"classes\":1000,\"dilate\":[false,false,true]}");
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
