#include "models/checkpoint/state_dict.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "tests/models/checkpoint/golden.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws_with.h"

#include "modules/core/error.h"

namespace gaze::models {
namespace {

torch::nn::Sequential network() {
  return torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 3, 3)),
                               torch::nn::BatchNorm2d(3),
                               torch::nn::Linear(torch::nn::LinearOptions(3, 2).bias(false)));
}

StateDict golden_state() {
  return read_state_dict(test::golden_checkpoints() / "zip_plain.pth");
}

TEST(LoadStateDict, CopiesEveryTensor) {
  torch::nn::Sequential net = network();
  const StateDict state = golden_state();
  EXPECT_TRUE(load_state_dict(*net, state).complete());
  const StateDict own = state_dict(*net);
  ASSERT_EQ(own.size(), state.size());
  for (const auto& [name, tensor] : state) EXPECT_TRUE(at::equal(own.at(name), tensor)) << name;
  EXPECT_TRUE(net->parameters()[0].requires_grad());
}

TEST(LoadStateDict, ConvertsTypesAndCopiesViews) {
  torch::nn::Sequential net = network();
  StateDict state = golden_state();
  state["0.weight"] = state["0.weight"].to(at::kHalf).to(at::kDouble);
  state["2.weight"] = state["2.weight"].t().contiguous().t();
  state["1.weight"] = state["1.weight"].to(at::kBFloat16);
  load_state_dict(*net, state);
  const StateDict own = state_dict(*net);
  EXPECT_EQ(own.at("0.weight").scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(own.at("0.weight").to(at::kDouble), state["0.weight"]));
  EXPECT_TRUE(at::equal(own.at("2.weight"), state["2.weight"]));
  EXPECT_TRUE(at::equal(own.at("1.weight"), state["1.weight"].to(at::kFloat)));
}

TEST(LoadStateDict, CounterOfBatchesMayBeAbsent) {
  torch::nn::Sequential net = network();
  StateDict state = golden_state();
  state.erase("1.num_batches_tracked");
  EXPECT_TRUE(load_state_dict(*net, state).complete());
}

TEST(LoadStateDict, ChangesNothingUnlessAllFits) {
  torch::nn::Sequential net = network();
  std::map<std::string, at::Tensor> before;
  for (const auto& [name, tensor] : state_dict(*net)) before[name] = tensor.clone();
  StateDict state = golden_state();
  state["2.weight"] = at::zeros({2, 4});
  state.erase("0.bias");
  state["3.weight"] = at::zeros({1});
  EXPECT_THROWS_WITH(load_state_dict(*net, state), ArgumentError,
                     "[load_state_dict] expected the tensors of the module; got others\nmissing (1): "
                     "0.bias\nunexpected (1): 3.weight\n"
                     "mis-shaped (1): 2.weight: expected [2, 3], file has [2, 4]");
  EXPECT_THROW(load_state_dict(*net, state, Strictness::allow_missing), ArgumentError);
  for (const auto& [name, tensor] : state_dict(*net)) EXPECT_TRUE(at::equal(tensor, before[name])) << name;
}

TEST(LoadStateDict, StrictRefusesWhatIsOnlyMissingOrOnlyUnexpected) {
  torch::nn::Sequential net = network();
  const std::string start = "[load_state_dict] expected the tensors of the module; got others\n";
  StateDict state = golden_state();
  state.erase("0.bias");
  EXPECT_THROWS_WITH(load_state_dict(*net, state), ArgumentError, start + "missing (1): 0.bias");
  state = golden_state();
  state["extra"] = at::zeros({1});
  EXPECT_THROWS_WITH(load_state_dict(*net, state), ArgumentError, start + "unexpected (1): extra");
}

TEST(LoadStateDict, AllowMissingReports) {
  torch::nn::Sequential net = network();
  StateDict state = golden_state();
  state.erase("0.bias");
  state["extra"] = at::zeros({1});
  const LoadReport report = load_state_dict(*net, state, Strictness::allow_missing);
  EXPECT_EQ(report.missing, std::vector<std::string>{"0.bias"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"extra"});
  EXPECT_FALSE(report.complete());
  EXPECT_TRUE(at::equal(state_dict(*net).at("0.weight"), state["0.weight"]));
}

TEST(LoadStateDict, RefusesComplexNumbers) {
  torch::nn::Sequential net = network();
  StateDict state = golden_state();
  state["0.bias"] = at::zeros({3}, at::kComplexFloat);
  EXPECT_THROWS_WITH(load_state_dict(*net, state), ArgumentError,
                     "[load_state_dict] expected the tensors of the module; got others\nmis-shaped (1): "
                     "0.bias: expected real numbers, "
                     "file has complex ones");
}

TEST(LoadReport, NamesAtMostEight) {
  LoadReport report;
  for (char c = 'a'; c <= 'k'; ++c) report.missing.emplace_back(1, c);
  report.mis_shaped = {"x: expected [1], file has [2]", "y: expected [1], file has [2]"};
  EXPECT_EQ(report.text(),
            "missing (11): a, b, c, d, e, f, g, h, and 3 more\n"
            "mis-shaped (2): x: expected [1], file has [2]; y: expected [1], file has [2]");
  EXPECT_EQ(LoadReport().text(), "");
}

class NoCheckpoint : public ::testing::Test {
 protected:
  void expect_error(const std::string& content, const std::string& text) {
    const std::filesystem::path path = folder_.path() / "weights.pth";
    test::write_file(path, content);
    EXPECT_THROWS_WITH(read_state_dict(path), FileError, path.string() + ": " + text);
  }

  test::TemporaryFolder folder_;
};

TEST_F(NoCheckpoint, PathsThatAreNoFile) {
  const std::string missing = (folder_.path() / "none.pth").string();
  EXPECT_THROWS_WITH(read_state_dict(missing), FileError, missing + ": does not exist; check the path");
  const std::string folder = folder_.path().string();
  EXPECT_THROWS_WITH(read_state_dict(folder), FileError, folder + ": is a folder; give a file inside it");
  EXPECT_THROWS_WITH(read_state_dict("/dev/null"), FileError,
                     "/dev/null: is not a regular file; give the file itself");
}

TEST_F(NoCheckpoint, ContentThatIsSomethingElse) {
  const std::string give = "; give a .safetensors or .pth file";
  expect_error("", "is empty; copy or download it again");
  expect_error("hello\n", "is text, not a checkpoint" + give);
  expect_error("{\"abcd\":{\"a\": 1}}", "is text, not a checkpoint" + give);
  expect_error("version https://git-lfs.github.com/spec/v1\n",
               "is a Git LFS pointer, not the file itself; run git lfs pull");
  expect_error("<!DOCTYPE html><html>", "is a web page, not a checkpoint; download the file itself");
  expect_error("\xff\xd8\xff\xe0 and so on", "is a picture, not a checkpoint" + give);
  expect_error(std::string("\x1f\x8b\x08\x00", 4), "is compressed by gzip; unpack it first");
  expect_error(std::string(5, '\0'), "is too short for a checkpoint; copy or download it again");
  expect_error(std::string(500, '\0'), "is no checkpoint gaze knows (safetensors, PyTorch .pth)" + give);
  expect_error(std::string(257, '\0') + "ustar" + std::string(50, '\0'), "is a tar archive; unpack it first");
}

TEST_F(NoCheckpoint, FilesCutInHalf) {
  const auto half = [](const char* file) {
    const std::string content = test::file_content(test::golden_checkpoints() / file);
    return content.substr(0, content.size() / 2);
  };
  expect_error(half("zip_plain.pth"),
               "is cut short: a zip archive without its directory; copy or download it again");
  expect_error(half("legacy_plain.pth"), "ends in the middle of a pickle; copy or download it again");
  const std::string legacy = test::file_content(test::golden_checkpoints() / "legacy_plain.pth");
  expect_error(legacy.substr(0, legacy.size() - 20),
               "ends in the middle of its tensors; copy or download it again");
  expect_error(half("types.safetensors"),
               "is cut short: its header has 832 bytes, 506 are there; copy or download it again");
}

}  // namespace
}  // namespace gaze::models
