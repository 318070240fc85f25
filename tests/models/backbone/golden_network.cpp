#include "tests/models/backbone/golden_network.h"

#include <torch/utils.h>

#include <filesystem>
#include <fstream>

#include "models/checkpoint/state_dict.h"
#include "tests/support/golden_weights.h"

namespace gaze::test {

nlohmann::json golden_file(const std::string& name) {
  std::ifstream file(std::string(GAZE_SOURCE_DIR "/tests/golden/backbone/") + name + ".json");
  return nlohmann::json::parse(file);
}

std::shared_ptr<models::Backbone> golden_network(const nlohmann::json& golden, const std::string& name) {
  std::map<std::string, NormStatistics> norms;
  for (const auto& [layer, pair] : golden.at("norms").items()) norms[layer] = {pair.at(0), pair.at(1)};
  const models::BackboneOptions options =
      models::backbone_options_from_json(golden.value("options", nlohmann::json::object()));
  std::shared_ptr<models::Backbone> network = models::make_backbone(golden.value("network", name), options);
  fill_golden(*network, golden.at("seed"), norms);
  network->eval();
  return network;
}

std::shared_ptr<models::Backbone> published_lite0() {
  const std::filesystem::path weights = GAZE_SOURCE_DIR "/weights/cache/efficientnet_lite0.pth";
  if (!std::filesystem::exists(weights)) return nullptr;
  auto network = models::make_backbone("efficientnet_lite0");
  models::load_state_dict(*network, models::read_state_dict(weights));
  network->eval();
  return network;
}

torch::Tensor crop_of(const models::Image& image, int64_t top, int64_t left, int64_t height, int64_t width,
                      int64_t step) {
  using torch::indexing::Slice;
  const torch::Tensor all =
      torch::tensor(at::ArrayRef<uint8_t>(image.rgb), torch::kByte).view({image.height, image.width, 3});
  return all.index({Slice(0, torch::indexing::None, step), Slice(0, torch::indexing::None, step)})
      .index({Slice(top, top + height), Slice(left, left + width)})
      .contiguous();
}

torch::Tensor normalise(const torch::Tensor& rgb, const std::vector<float>& mean,
                        const std::vector<float>& std) {
  const torch::Tensor x = rgb.permute({2, 0, 1}).to(torch::kFloat);  // [3, H, W]
  return ((x - torch::tensor(mean).view({3, 1, 1})) / torch::tensor(std).view({3, 1, 1}))
      .unsqueeze(0)
      .contiguous();
}

}  // namespace gaze::test
