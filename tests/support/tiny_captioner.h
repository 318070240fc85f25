// A captioner with random weights that is small enough for any test: ResNet-18 with 10 classes, a decoder of
// width 16, inputs of 64 x 64.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "models/backbone/insert.h"
#include "models/captioner/captioner.h"
#include "models/decoder/caption_decoder.h"
#include "models/decoder/vocabulary.h"

namespace gaze::test {

struct TinyCaptioner {
  std::string words = "a red ball on green sand";  // the vocabulary
  int64_t max_tokens = 9;
  std::string module = "none";  // in the slot layer4.1.attn
  bool ends = true;             // else the end token is never chosen, so that a caption always has words
};

inline models::ModelFile tiny_caption_model(const TinyCaptioner& tiny = {}) {
  torch::manual_seed(4);
  const auto backbone = models::make_backbone("resnet18", 10);
  models::insert(*backbone, "layer4.1.attn", tiny.module, {Init::paper});
  const auto vocabulary = models::Vocabulary::from_captions({tiny.words});
  models::CaptionDecoderOptions options;
  options.vocabulary = vocabulary.size();
  options.visual_width = 10;
  options.width = 16;
  options.heads = 2;
  options.max_tokens = tiny.max_tokens;
  models::CaptionDecoder decoder(options);
  if (!tiny.ends) {
    const torch::NoGradGuard no_grad;
    decoder->named_parameters()["output.bias"][models::Vocabulary::kEnd] = -100;
  }
  models::Preprocessing preprocessing;
  preprocessing.height = preprocessing.width = 64;
  preprocessing.mode = models::ResizeMode::squash;
  return models::make_model_file(*backbone, *decoder, vocabulary, preprocessing, nlohmann::json::object());
}

}  // namespace gaze::test
