// gaze classify as a person runs it, on small networks with random weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/backbone/backbone.h"
#include "models/checkpoint/model_file.h"
#include "models/checkpoint/safetensors.h"
#include "models/image/image.h"
#include "models/image/preprocess.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace gaze {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ClassifyProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    torch::manual_seed(2);
    network() = models::make_backbone("resnet18", 4);
    network()->eval();
    models::write_safetensors(shared() / "weights.safetensors", {models::state_dict(*network()), {}});
    models::Preprocessing preprocessing = models::resnet_preprocessing();
    preprocessing.height = preprocessing.width = 48;
    preprocessing.mode = models::ResizeMode::squash;
    models::ModelFile model;
    model.description = {{"task", "classify"},
                         {"backbone", {{"name", "resnet18"}}},
                         {"preprocessing", models::to_json(preprocessing)},
                         {"labels", {"ant", "bee", "cat", "dog"}}};
    for (const auto& [key, tensor] : models::state_dict(*network()))
      model.weights["backbone." + key] = tensor;
    models::write_model_file(shared() / "model.safetensors", model);
    models::save_image(picture(), shared() / "a.png");
  }
  static void TearDownTestSuite() { network().reset(); }

  static models::Image picture() {
    models::Image image{300, 260, {}, 1};
    for (int64_t i = 0; i < image.width * image.height * 3; ++i)
      image.rgb.push_back(static_cast<uint8_t>(i * i / 700));
    return image;
  }
  static std::shared_ptr<models::Backbone>& network() {
    static std::shared_ptr<models::Backbone> network;
    return network;
  }
  static const fs::path& shared() {
    static const test::TemporaryFolder folder;
    return folder.path();
  }

  static test::ProgramResult classify(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {GAZE_PROGRAM, "classify"});
    arguments.insert(arguments.end(), {"--threads", "1"});
    return test::run_program(arguments);
  }
  static std::vector<std::string> with_weights(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--backbone", "resnet18", "--weights", (shared() / "weights.safetensors").string()});
    return arguments;
  }

  // The line must be what the library computes with this preprocessing.
  static void expect_result(const json& line, const models::Preprocessing& preprocessing,
                            const std::vector<std::string>& labels) {
    const torch::NoGradGuard no_grad;
    const torch::Tensor x = models::preprocess(picture(), preprocessing).input.unsqueeze(0);
    const torch::Tensor logits = network()->forward(x)[0].to(torch::kDouble);
    const torch::Tensor probabilities = logits.softmax(0);
    ASSERT_EQ(line["logits"].size(), 4U);
    for (int64_t k = 0; k < 4; ++k)
      EXPECT_NEAR(line["logits"][k].get<double>(), logits[k].item<double>(), 1e-4);
    double last = 1;
    for (const json& entry : line["top"]) {
      const int64_t k = entry["index"];
      EXPECT_EQ(entry["label"], labels[k]);
      EXPECT_NEAR(entry["probability"].get<double>(), probabilities[k].item<double>(), 1e-5);
      EXPECT_LE(entry["probability"].get<double>(), last);
      last = entry["probability"];
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(ClassifyProgram, bare_weights_get_imagenet_preprocessing) {
  const std::string path = (shared() / "a.png").string();
  const test::ProgramResult result = classify(with_weights({path, "--json", "--logits"}));
  ASSERT_EQ(result.status, 0) << result.err;
  const json line = json::parse(result.out);
  EXPECT_EQ(line["image"], path);
  EXPECT_EQ(line["top"].size(), 4U);
  expect_result(line, models::resnet_preprocessing(), {"class 0", "class 1", "class 2", "class 3"});
}

TEST_F(ClassifyProgram, a_model_file_brings_preprocessing_and_labels) {
  const test::ProgramResult result =
      classify({(shared() / "a.png").string(), "--model", (shared() / "model.safetensors").string(), "--json",
                "--logits", "--top", "2"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json line = json::parse(result.out);
  EXPECT_EQ(line["top"].size(), 2U);
  models::Preprocessing preprocessing = models::resnet_preprocessing();
  preprocessing.height = preprocessing.width = 48;
  preprocessing.mode = models::ResizeMode::squash;
  expect_result(line, preprocessing, {"ant", "bee", "cat", "dog"});
}

TEST_F(ClassifyProgram, text_lists_percent_label_and_index) {
  std::ofstream(folder_.path() / "labels") << "w\nx\r\ny\nz";
  const std::string path = (shared() / "a.png").string();
  const test::ProgramResult result =
      classify(with_weights({path, "--labels", (folder_.path() / "labels").string(), "--top", "1"}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::MatchesRegex(path + "\n +[0-9]+\\.[0-9] %  [wxyz]  \\([0-3]\\)\n"));
}

TEST_F(ClassifyProgram, a_bad_picture_in_a_folder_is_reported_and_skipped) {
  fs::copy_file(shared() / "a.png", folder_.path() / "a.png");
  fs::copy_file(shared() / "a.png", folder_.path() / "c.png");
  std::ofstream(folder_.path() / "b.jpg") << "not a picture";
  const test::ProgramResult result = classify(with_weights({folder_.path().string(), "--json"}));
  EXPECT_EQ(result.status, 3);
  std::istringstream lines(result.out);
  std::vector<json> got;
  for (std::string line; std::getline(lines, line);) got.push_back(json::parse(line));
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(got[0].contains("top"));
  EXPECT_TRUE(got[1].contains("error"));
  EXPECT_TRUE(got[2].contains("top"));
  EXPECT_THAT(result.err, HasSubstr("b.jpg"));
}

TEST_F(ClassifyProgram, nothing_but_failures_is_a_failure) {
  const test::ProgramResult result = classify(with_weights({(folder_.path() / "gone.jpg").string()}));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("gone.jpg: does not exist"));
  EXPECT_EQ(classify(with_weights({folder_.path().string()})).status, 1) << "an empty folder";
}

TEST_F(ClassifyProgram, weights_that_do_not_fit_are_a_failure) {
  const std::string picture = (shared() / "a.png").string(),
                    weights = (shared() / "weights.safetensors").string();
  test::ProgramResult result = classify({picture, "--backbone", "resnet50", "--weights", weights});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr(weights + ": holds the weights of resnet18, not of resnet50"));
  EXPECT_EQ(result.out, "");

  const fs::path half = folder_.path() / "half.safetensors";
  fs::copy_file(weights, half);
  fs::resize_file(half, fs::file_size(half) / 2);
  result = classify({picture, "--backbone", "resnet18", "--weights", half.string()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("half.safetensors: "));

  result = classify({picture, "--model", weights});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr(weights));
}

TEST_F(ClassifyProgram, labels_must_be_as_many_as_the_classes) {
  std::ofstream(folder_.path() / "labels") << "one\ntwo\n";
  const test::ProgramResult result = classify(
      with_weights({(shared() / "a.png").string(), "--labels", (folder_.path() / "labels").string()}));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("holds 2 labels, but the network has 4 classes"));
}

TEST_F(ClassifyProgram, wrong_command_lines_are_usage_errors) {
  const std::string picture = (shared() / "a.png").string(),
                    weights = (shared() / "weights.safetensors").string();
  EXPECT_EQ(classify({picture}).status, 2);
  EXPECT_EQ(classify({picture, "--backbone", "resnet18"}).status, 2);
  EXPECT_EQ(classify({picture, "--weights", weights}).status, 2);
  EXPECT_EQ(classify({picture, "--backbone", "resnet1", "--weights", weights}).status, 2);
  EXPECT_EQ(classify(with_weights({picture, "--model", weights})).status, 2);
  EXPECT_EQ(classify(with_weights({picture, "--top", "0"})).status, 2);
  EXPECT_EQ(classify(with_weights({})).status, 2);
}

}  // namespace
}  // namespace gaze
