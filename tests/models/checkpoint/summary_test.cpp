#include "models/checkpoint/summary.h"

#include "tests/models/checkpoint/golden.h"
#include "tests/support/temporary_folder.h"

#include "models/checkpoint/model_file.h"
#include "models/checkpoint/safetensors.h"

namespace gaze::models {
namespace {

TensorSummaries resnet(const std::vector<int>& blocks, bool bottleneck,
                       std::vector<int64_t> inner = {64, 64, 3, 3}, const std::string& prefix = "") {
  TensorSummaries tensors = {{prefix + "conv1.weight", {at::kFloat, {64, 3, 7, 7}}},
                             {prefix + "fc.weight", {at::kFloat, {1000, 512}}}};
  for (size_t layer = 0; layer < blocks.size(); ++layer) {
    for (int block = 0; block < blocks[layer]; ++block) {
      const std::string start =
          prefix + "layer" + std::to_string(layer + 1) + "." + std::to_string(block) + ".conv";
      tensors[start + "1.weight"] = {at::kFloat, {64, 64, 1, 1}};
      tensors[start + "2.weight"] = {at::kFloat, inner};
      if (bottleneck) tensors[start + "3.weight"] = {at::kFloat, {256, 64, 1, 1}};
    }
  }
  return tensors;
}

TEST(LooksLike, ResNetsByTheirBlocks) {
  EXPECT_EQ(looks_like(resnet({2, 2, 2, 2}, false)), "torchvision resnet18");
  EXPECT_EQ(looks_like(resnet({3, 4, 6, 3}, false)), "torchvision resnet34");
  EXPECT_EQ(looks_like(resnet({3, 4, 6, 3}, true)), "torchvision resnet50");
  EXPECT_EQ(looks_like(resnet({3, 4, 23, 3}, true)), "torchvision resnet101");
  EXPECT_EQ(looks_like(resnet({3, 4, 6, 3}, true, {128, 4, 3, 3})), "torchvision resnext50_32x4d");
  EXPECT_EQ(looks_like(resnet({3, 4, 6, 3}, true, {128, 128, 3, 3})), "torchvision wide_resnet50_2");
  EXPECT_EQ(looks_like(resnet({2, 2, 2, 2}, false, {64, 64, 3, 3}, "backbone.")),
            "torchvision resnet18 under \"backbone.\"");
  TensorSummaries with_se = resnet({3, 4, 6, 3}, true);
  with_se["layer1.0.se.fc1.weight"] = {at::kFloat, {16, 256, 1, 1}};
  EXPECT_EQ(looks_like(with_se), "timm resnet50 with se in 1 slot");
  with_se["layer1.0.se.bn.weight"] = {at::kFloat, {16}};  // what gaze has not
  EXPECT_EQ(looks_like(with_se), "timm seresnet50");
  EXPECT_EQ(class_count(resnet({2, 2, 2, 2}, false)), 1000);
}

TEST(LooksLike, OthersByAName) {
  const auto of = [](const std::string& name) { return looks_like({{name, {at::kFloat, {1}}}}); };
  EXPECT_EQ(of("blocks.0.attn.qkv.weight"), "timm vision transformer");
  EXPECT_EQ(of("encoder.layers.encoder_layer_0.ln_1.weight"), "torchvision vision transformer");
  EXPECT_EQ(of("features.denseblock1.denselayer1.norm1.weight"), "torchvision DenseNet");
  EXPECT_EQ(of("weight"), "");
  TensorSummaries lite = {{"_conv_stem.weight", {at::kFloat, {32, 3, 3, 3}}}};
  for (int block = 0; block < 16; ++block)
    lite["_blocks." + std::to_string(block) + "._bn1.weight"] = {at::kFloat, {32}};
  EXPECT_EQ(looks_like(lite), "efficientnet-lite-pytorch efficientnet_lite0");
  lite["_blocks.0._se_reduce.weight"] = {at::kFloat, {8, 32, 1, 1}};
  EXPECT_EQ(looks_like(lite), "efficientnet_pytorch EfficientNet");
}

TEST(SummarizeCheckpoint, CountsTensorsParametersAndTypes) {
  for (const char* file : {"zip_plain.pth", "legacy_plain.pth"}) {
    const CheckpointSummary summary = summarize_checkpoint(test::golden_checkpoints() / file);
    EXPECT_EQ(summary.tensors.size(), 8U);
    EXPECT_EQ(summary.parameters, 54 + 3 + 3 + 3 + 6);  // the norm's statistics left out
    EXPECT_EQ(summary.dtypes, (std::map<std::string, int64_t>{{"float32", 7}, {"int64", 1}}));
    EXPECT_FALSE(summary.description.has_value());
    EXPECT_EQ(summary.classes, 0);
  }
}

TEST(SummarizeCheckpoint, ModelFileBringsItsDescription) {
  test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "m.safetensors";
  const nlohmann::json description = {{"format", 1},
                                      {"task", "classify"},
                                      {"backbone", {{"name", "x"}}},
                                      {"preprocessing", nlohmann::json::object()}};
  write_model_file(path, {description, {{"backbone.a", at::ones({2, 3}, at::kHalf)}}});
  const CheckpointSummary summary = summarize_checkpoint(path);
  ASSERT_TRUE(summary.description.has_value());
  EXPECT_EQ(*summary.description, description);
  EXPECT_EQ(summary.parameters, 6);
  EXPECT_EQ(summary.dtypes, (std::map<std::string, int64_t>{{"float16", 1}}));
  EXPECT_EQ(summary.file_bytes, std::filesystem::file_size(path));
}

}  // namespace
}  // namespace gaze::models
