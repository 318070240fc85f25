#include <fmt/format.h>

#include <utility>

#include "models/captioner/published_captioner.h"
#include "models/captioner/published_tensors.h"
#include "models/decoder/transformer_decoder.h"
#include "modules/attention/transformer.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "catr";
constexpr int64_t kHeads = 8;  // no tensor tells

// The starts of names there and here; of the layers see layers().
const detail::RenamedStarts kRenamed = {
    {"backbone.0.body.", "backbone."},
    {"input_proj.", "decoder.visual."},
    {"transformer.encoder.norm.", "decoder.encoder_norm."},
    {"transformer.decoder.norm.", "decoder.norm."},
    {"transformer.embeddings.word_embeddings.", "decoder.embedding."},
    {"transformer.embeddings.position_embeddings.", "decoder.positions."},
    {"transformer.embeddings.LayerNorm.", "decoder.embedding_norm."},
    {"mlp.layers.0.", "decoder.hidden.0."},
    {"mlp.layers.1.", "decoder.hidden.1."},
    {"mlp.layers.2.", "decoder.output."},
};

bool starts_with(const std::string& name, const std::string& start) {
  return name.compare(0, start.size(), start) == 0;
}

// Moves the layers "FROM0.", "FROM1." ... of PyTorch's kind from `state` to "TO0." ... of `weights`; returns
// how many.
int64_t take_layers(StateDict& state, const std::string& from, const std::string& to, StateDict& weights) {
  int64_t count = 0;
  for (;; ++count) {
    const std::string layer = fmt::format("{}{}.", from, count);
    StateDict theirs;
    for (auto item = state.lower_bound(layer); item != state.end() && starts_with(item->first, layer);
         item = state.erase(item))
      theirs.emplace(item->first.substr(layer.size()), item->second);
    if (theirs.empty()) return count;
    try {
      for (auto& [name, tensor] : from_torch_transformer_layer(theirs))
        weights.emplace(fmt::format("{}{}.{}", to, count, name), std::move(tensor));
    } catch (const ArgumentError& error) {
      throw ArgumentError(fmt::format("[{}] {} is no layer: {}", kOp, layer, error.what()));
    }
  }
}

}  // namespace

std::optional<PublishedCaptioner> catr_captioner(const StateDict& all) {
  if (all.count("transformer.embeddings.word_embeddings.weight") == 0 ||
      all.count("backbone.0.body.conv1.weight") == 0)
    return std::nullopt;
  PublishedCaptioner captioner;
  StateDict state = all;
  TransformerDecoderOptions options;
  options.encoder_layers =
      take_layers(state, "transformer.encoder.layers.", "decoder.encoder.", captioner.weights);
  options.decoder_layers =
      take_layers(state, "transformer.decoder.layers.", "decoder.layers.", captioner.weights);
  check_that(options.encoder_layers > 0 && options.decoder_layers > 0, kOp, "layers of encoder and decoder",
             fmt::format("{} and {}", options.encoder_layers, options.decoder_layers));
  check_that(state.count("transformer.encoder.norm.weight") != 0, kOp,
             "the tensor transformer.encoder.norm.weight, which networks with pre_norm have", "none");
  for (const auto& [name, tensor] : state)
    captioner.weights.emplace(detail::renamed(name, kRenamed, kOp), tensor);

  at::Tensor& projection = captioner.weights["decoder.visual.weight"];  // a 1x1 convolution there
  check_that(
      projection.defined() && projection.dim() == 4 && projection.size(2) == 1 && projection.size(3) == 1,
      kOp, "input_proj.weight [D, K, 1, 1]", projection.defined() ? shape_text(projection.sizes()) : "none");
  projection = projection.flatten(1);
  const auto [vocabulary, width] = detail::matrix_size(captioner.weights, "decoder.embedding.weight", kOp);
  options.vocabulary = vocabulary;
  options.width = width;
  options.heads = kHeads;
  options.visual_width = projection.size(1);
  options.feed_forward = detail::matrix_size(captioner.weights, "decoder.layers.0.expand.weight", kOp)[0];
  options.head_width = detail::matrix_size(captioner.weights, "decoder.hidden.0.weight", kOp)[0];
  options.max_tokens = detail::matrix_size(captioner.weights, "decoder.positions.weight", kOp)[0];
  options.norm_first = options.final_norm = options.embedding_norm = options.layer_positions = true;
  options.positions = WordPositions::learned;
  options.head = WordHead::mlp;
  const ResNetShape network = detail::resnet_of(captioner.weights, kOp);
  captioner.name = "CATR";
  captioner.backbone = network.name();
  captioner.options = {{"classes", 0}};
  if (network.bottleneck) {  // torchvision's basic blocks do not dilate
    captioner.options["dilate"] = {false, false, true};
    captioner.stride = 16;
  }
  captioner.decoder = to_json(options);
  captioner.decoder["kind"] = "transformer";
  captioner.tokenizer = "wordpiece";
  captioner.licence = "Apache-2.0 (code); of the weights, see where they are from";
  captioner.preprocessing.mode = ResizeMode::fit;
  captioner.preprocessing.height = captioner.preprocessing.width = 299;
  captioner.preprocessing.filter = Filter::bicubic;
  captioner.preprocessing.mean = captioner.preprocessing.std = {0.5F, 0.5F, 0.5F};
  return captioner;
}

}  // namespace gaze::models
