#include "tests/models/captioner/golden_captioner.h"

#include <torch/torch.h>

#include <fstream>
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

}  // namespace gaze::models::test
