#include "models/checkpoint/model_file.h"

#include <ATen/ATen.h>

#include "tests/models/checkpoint/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "models/checkpoint/safetensors.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

using nlohmann::json;

json complete() {
  return {{"format", 1},
          {"task", "caption"},
          {"backbone", {{"name", "resnet18"}, {"stride", 32}}},
          {"slots", {{"layer4.1.attn", "cbam"}}},
          {"decoder", {{"layers", 2}}},
          {"tokenizer", {{"kind", "word"}, {"data", json::array({"a", "dog"})}}},
          {"preprocessing", {{"size", json::array({224, 224})}}},
          {"labels", json::array({"dog"})}};
}

class ModelFileTest : public ::testing::Test {
 protected:
  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "model.safetensors";

  void write_entry(const std::string& entry) {
    write_safetensors(path_, {{{"backbone.a", at::ones({2})}}, {{"gaze", entry}}});
  }
  void expect_error(const std::string& text) {
    EXPECT_THROWS_WITH(read_model_file(path_), FileError, path_.string() + ": " + text);
  }
};

TEST_F(ModelFileTest, RoundTrip) {
  const ModelFile model{complete(),
                        {{"backbone.a", at::full({2}, 0.5, at::kHalf)}, {"decoder.b", at::ones({1})}}};
  write_model_file(path_, model);
  const ModelFile back = read_model_file(path_);
  EXPECT_EQ(back.description, model.description);
  ASSERT_EQ(back.weights.size(), 2U);
  EXPECT_TRUE(at::equal(back.weights.at("backbone.a"), model.weights.at("backbone.a")));
  EXPECT_EQ(back.weights.at("backbone.a").scalar_type(), at::kHalf);
}

TEST_F(ModelFileTest, FormatIsFilledIn) {
  json description = complete();
  description.erase("format");
  write_model_file(path_, {description, {}});
  EXPECT_EQ(read_model_file(path_).description["format"], 1);
}

TEST_F(ModelFileTest, OtherFilesSaySo) {
  write_safetensors(path_, {{{"a", at::ones({2})}}, {{"format", "pt"}}});
  expect_error(
      "is a bare checkpoint: it has no \"gaze\" entry that says what the weights are for; give it with "
      "--weights and --backbone");
  const std::string pth = (test::golden_checkpoints() / "zip_plain.pth").string();
  EXPECT_THROWS_WITH(
      read_model_file(pth), FileError,
      pth + ": is a PyTorch checkpoint, not a model file of gaze; give it with --weights and --backbone");
}

TEST_F(ModelFileTest, DamagedEntriesSaySo) {
  const std::string again = "; copy or download it again";
  write_entry("{");
  expect_error("is damaged: its \"gaze\" entry is not JSON" + again);
  write_entry(std::string(1000, '[') + std::string(1000, ']'));
  expect_error("is damaged: its \"gaze\" entry nests too deep" + again);
  write_entry("[]");
  expect_error("is damaged: its \"gaze\" entry is not a JSON object; write it again with write_model_file");
  json description = complete();
  description["format"] = 2;
  write_entry(description.dump());
  expect_error("is a model file of format 2, this version reads up to 1; use a newer gaze");
}

TEST_F(ModelFileTest, MissingFieldsAreNamed) {
  const auto expect_misfit = [&](const json& description, const std::string& problem) {
    write_entry(description.dump());
    expect_error("is damaged: its \"gaze\" entry " + problem + "; write it again with write_model_file");
    EXPECT_THROWS_WITH(write_model_file(path_, {description, {}}), ArgumentError,
                       "[write_model_file] expected a complete description; got one that " + problem);
  };
  for (const char* field : {"task"}) {
    json description = complete();
    description.erase(field);
    expect_misfit(description, std::string("has no text \"") + field + "\"");
  }
  for (const char* field : {"backbone", "preprocessing", "decoder", "tokenizer"}) {
    json description = complete();
    description.erase(field);
    expect_misfit(description, std::string("has no object \"") + field + "\"");
  }
  json description = complete();
  description["backbone"].erase("name");
  expect_misfit(description, "has no text \"name\" in \"backbone\"");
  description = complete();
  description["task"] = "sing";
  expect_misfit(description, "has the task \"sing\"; this version knows caption, classify and translate");
  description = complete();
  description["slots"] = {{"a", 1}};
  expect_misfit(description, "has no text as spec of the slot \"a\"");
  description = complete();
  description["labels"] = {1};
  expect_misfit(description, "has a label that is no text");
}

TEST(WithPrefix, TakesThePartAndDropsThePrefix) {
  const at::Tensor x = at::ones({1});
  const StateDict part = with_prefix({{"a.x", x}, {"ab.x", x}, {"a.y.z", x}, {"b", x}}, "a.");
  EXPECT_EQ(part.size(), 2U);
  EXPECT_EQ(part.count("x"), 1U);
  EXPECT_EQ(part.count("y.z"), 1U);
}

}  // namespace
}  // namespace gaze::models
