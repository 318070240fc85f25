#include "models/captioner/caption.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace gaze::models {
namespace {

// float32 has no more than this to say about a share of one; shorter numbers make shorter lines.
double rounded(double share) {
  return std::round(share * 1e8) / 1e8;
}

nlohmann::json values_of(const at::Tensor& map) {
  const at::Tensor flat = map.to(at::kDouble).flatten().contiguous();
  nlohmann::json values = nlohmann::json::array();
  for (int64_t s = 0; s < flat.numel(); ++s) values.push_back(rounded(flat.const_data_ptr<double>()[s]));
  return values;
}

nlohmann::json to_json(const CaptionWord& word, const Geometry& geometry) {
  const int64_t rows = word.map.size(0), cols = word.map.size(1);
  nlohmann::json json = {{"text", word.text},
                         {"log_probability", word.log_probability},
                         {"map",
                          {{"rows", rows},
                           {"cols", cols},
                           {"values", values_of(word.map)},
                           {"to_image", geometry.cell_to_image(rows, cols).numbers()}}}};
  for (const WordEvidence& evidence : word.evidence) {
    json["evidence"].push_back({{"label", evidence.label}, {"weight", rounded(evidence.weight)}});
  }
  return json;
}

}  // namespace

nlohmann::json to_json(const std::string& image, const CaptionedImage& result) {
  nlohmann::json captions = nlohmann::json::array();
  for (const Caption& caption : result.captions) {
    nlohmann::json words = nlohmann::json::array();
    for (const CaptionWord& word : caption.words) words.push_back(to_json(word, result.geometry));
    captions.push_back({{"text", caption.text},
                        {"log_probability", caption.log_probability},
                        {"score", caption.score},
                        {"finished", caption.finished},
                        {"tokens", caption.tokens},
                        {"words", std::move(words)}});
  }
  return {{"image", image},
          {"width", result.geometry.width},
          {"height", result.geometry.height},
          {"captions", std::move(captions)}};
}

}  // namespace gaze::models
