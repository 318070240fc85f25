#include "models/decoder/word_decoder.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/decoder/caption_decoder.h"
#include "models/decoder/lstm_decoder.h"
#include "models/decoder/transformer_decoder.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using Make = std::function<std::shared_ptr<WordDecoder>(const nlohmann::json&)>;

// A kind, a line. Files written before there were several have no kind.
const std::map<std::string, Make>& kinds() {
  static const std::map<std::string, Make> all = {
      {"cells",
       [](const nlohmann::json& json) {
         return std::make_shared<CaptionDecoderImpl>(caption_decoder_options_from_json(json));
       }},
      {"lstm",
       [](const nlohmann::json& json) {
         return std::make_shared<LstmDecoderImpl>(lstm_decoder_options_from_json(json));
       }},
      {"transformer",
       [](const nlohmann::json& json) {
         return std::make_shared<TransformerDecoderImpl>(transformer_decoder_options_from_json(json));
       }},
  };
  return all;
}

}  // namespace

torch::Tensor sources_of(const torch::Tensor& rows, int64_t beam) {
  const torch::Tensor sources = rows.div(beam, "floor").view({-1, beam});  // [B', beam]
  check_that(sources.eq(sources.narrow(1, 0, 1)).all().item<bool>(), "search",
             fmt::format("each {} rows from one input", beam), "rows of several");
  return sources.select(1, 0).contiguous();
}

std::shared_ptr<WordDecoder> word_decoder_from_json(const nlohmann::json& json) {
  check_that(json.is_object(), "decoder", "an object of options", json.type_name());
  nlohmann::json options = json;
  std::string kind = "cells";
  if (const auto told = json.find("kind"); told != json.end()) {
    check_that(told->is_string(), "decoder", "kind a text", told->dump());
    kind = told->get<std::string>();
    options.erase("kind");
  }
  const auto found = kinds().find(kind);
  if (found == kinds().end()) {
    std::vector<std::string> known;
    for (const auto& [name, make] : kinds()) known.push_back(name);
    fail_unknown("decoder", "kind", kind, known);
  }
  return found->second(options);
}

}  // namespace gaze::models
