#include "tests/models/captioner/golden_captioner.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "tests/support/golden_weights.h"

namespace gaze::models::test {
namespace {

std::vector<int64_t> shape_of(const std::string& text) {
  std::vector<int64_t> shape;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, 'x');) shape.push_back(std::stoll(part));
  return shape;
}

// See changes() of the scripts.
void change(torch::Tensor tensor, const nlohmann::json& change) {
  if (change.contains("scale")) {
    tensor.mul_(change["scale"].get<double>());
    return;
  }
  if (change.contains("row")) tensor = tensor[change["row"].get<int64_t>()];
  if (change.contains("column")) tensor = tensor.select(-1, change["column"].get<int64_t>());
  const double value = change["value"];
  if (change.contains("step")) {
    tensor.copy_(torch::arange(tensor.size(0), torch::kDouble) * change["step"].get<double>() + value);
  } else {
    tensor.fill_(value);
  }
}

}  // namespace

std::filesystem::path golden_folder() {
  return std::filesystem::path(GAZE_SOURCE_DIR) / "tests" / "golden";
}

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

StateDict golden_state(const nlohmann::json& golden, const std::string& encoder) {
  std::map<std::string, gaze::test::NormStatistics> norms;
  for (const auto& [name, norm] : golden["norms"].items()) norms[name] = {norm[0], norm[1]};
  StateDict state;
  for (const auto& [key, shape] : golden["state"].items()) {
    const std::string text = shape;
    if (text.empty()) continue;  // a counter of batches
    const char* seed = key.rfind(encoder, 0) == 0 ? "encoder_seed" : "decoder_seed";
    state[key] = gaze::test::golden_tensor(key, shape_of(text), golden[seed].get<uint64_t>(), norms);
  }
  for (const nlohmann::json& one : golden["changes"]) change(state.at(one["key"]), one);
  return state;
}

void Parity::compare(const CaptionedImage& found, const nlohmann::json& expected,
                     const std::map<size_t, std::vector<float>>& maps, const std::string& what) {
  const Caption& caption = found.captions.front();
  ASSERT_EQ(nlohmann::json(caption.tokens), expected["tokens"]) << what;
  EXPECT_TRUE(caption.finished) << what;
  ASSERT_EQ(caption.words.size() + 1, caption.tokens.size()) << what;
  double sum = expected["log_probabilities"].back();
  for (size_t t = 0; t < caption.words.size(); ++t) {
    const double wanted = expected["log_probabilities"][t];
    sum += wanted;
    word = std::max(word, std::abs(caption.words[t].log_probability - wanted));
  }
  EXPECT_NEAR(caption.log_probability, sum, 1e-3) << what;
  for (const auto& [t, map] : maps) {
    const torch::Tensor wanted = torch::tensor(map).view({found.rows, found.cols});
    cell = std::max(cell, (caption.words.at(t).map - wanted).abs().max().item<double>());
  }
}

void Parity::judge() const {
  std::cout << "largest difference: log-probability " << word << ", map " << cell << "\n";
  EXPECT_LE(word, 1e-3);
  EXPECT_LE(cell, 1e-4);
}

}  // namespace gaze::models::test
