// caption_worker THREADS < REQUESTS: captions by a captioner of CATR's architecture with random weights.
//
// {"picture": FILE, "words": 20} -> {"ms", "tokens"}: file to greedy caption, which does not end before
#include <fmt/format.h>
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/captioner/caption_model.h"
#include "models/captioner/captioner.h"
#include "models/decoder/transformer_decoder.h"
#include "models/decoder/wordpiece.h"
#include "models/image/image.h"
#include "tests/figures/serve.h"

namespace gaze {
namespace {

using nlohmann::json;

constexpr int64_t kVocabulary = 30'522;

models::WordPiece make_tokenizer() {
  std::vector<std::string> tokens;
  for (int64_t id = 0; id < kVocabulary; ++id) tokens.push_back(fmt::format("word{}", id));
  tokens[0] = "[PAD]";
  tokens[100] = "[UNK]";
  tokens[101] = "[CLS]";
  tokens[102] = "[SEP]";
  tokens[103] = "[MASK]";
  return models::WordPiece(tokens);
}

models::TransformerDecoder make_decoder() {
  models::TransformerDecoderOptions options;
  options.vocabulary = kVocabulary;
  options.visual_width = 2048;
  options.width = 256;
  options.encoder_layers = 6;
  options.norm_first = options.final_norm = options.embedding_norm = options.layer_positions = true;
  options.positions = models::WordPositions::learned;
  options.head = models::WordHead::mlp;
  options.max_tokens = 128;
  return models::TransformerDecoder(options);
}

models::Preprocessing make_preprocessing() {
  models::Preprocessing preprocessing;
  preprocessing.mode = models::ResizeMode::fit;
  preprocessing.height = preprocessing.width = 299;
  preprocessing.filter = models::Filter::bicubic;
  preprocessing.mean = preprocessing.std = {0.5F, 0.5F, 0.5F};
  return preprocessing;
}

models::Captioner make_captioner() {
  models::BackboneOptions network;
  network.classes = 0;
  network.dilate = {false, false, true};
  models::TransformerDecoder decoder = make_decoder();
  return models::Captioner(make_model_file(*models::make_backbone("resnet101", network), *decoder,
                                           make_tokenizer(), make_preprocessing(), json::object()));
}

json caption(models::Captioner& captioner, const std::string& picture, int64_t words) {
  models::SearchOptions options;
  options.beam = 1;
  options.max_words = words;
  options.constraints.banned = {{captioner.tokenizer().specials().end}};
  const Stopwatch watch;
  const std::vector<models::CaptionedImage> captioned =
      captioner.caption({models::load_image(picture)}, options);
  const double ms = watch.milliseconds();
  return {{"ms", ms}, {"tokens", captioned[0].captions[0].tokens.size()}};
}

Answer make() {
  torch::manual_seed(1);
  return [captioner = std::make_shared<models::Captioner>(make_captioner())](const json& request) {
    return caption(*captioner, request["picture"], request["words"]);
  };
}

}  // namespace
}  // namespace gaze

int main(int count, char** arguments) {
  return gaze::serve(count, arguments, gaze::make);
}
