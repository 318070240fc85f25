#include "models/captioner/published_captioner.h"
#include "models/captioner/published_tensors.h"
#include "models/decoder/lstm_decoder.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "sgrvinod";

// The starts of names there and here. The encoder is a Sequential of a ResNet's first eight children.
const detail::RenamedStarts kRenamed = {
    {"encoder.resnet.0.", "backbone.conv1."},
    {"encoder.resnet.1.", "backbone.bn1."},
    {"encoder.resnet.4.", "backbone.layer1."},
    {"encoder.resnet.5.", "backbone.layer2."},
    {"encoder.resnet.6.", "backbone.layer3."},
    {"encoder.resnet.7.", "backbone.layer4."},
    {"decoder.attention.encoder_att.", "decoder.project_cells."},
    {"decoder.attention.decoder_att.", "decoder.project_state."},
    {"decoder.attention.full_att.", "decoder.score."},
    {"decoder.embedding.", "decoder.embedding."},
    {"decoder.decode_step.", "decoder.cell."},
    {"decoder.init_h.", "decoder.start_hidden."},
    {"decoder.init_c.", "decoder.start_memory."},
    {"decoder.f_beta.", "decoder.gate."},
    {"decoder.fc.", "decoder.output."},
};

}  // namespace

std::optional<PublishedCaptioner> sgrvinod_captioner(const StateDict& state) {
  if (state.count("decoder.attention.full_att.weight") == 0 || state.count("encoder.resnet.0.weight") == 0)
    return std::nullopt;
  PublishedCaptioner captioner;
  for (const auto& [name, tensor] : state)
    captioner.weights.emplace(detail::renamed(name, kRenamed, kOp), tensor);
  const auto [vocabulary, embedding] =
      detail::matrix_size(captioner.weights, "decoder.embedding.weight", kOp);
  const auto [attention, channels] =
      detail::matrix_size(captioner.weights, "decoder.project_cells.weight", kOp);
  LstmDecoderOptions options;
  options.vocabulary = vocabulary;
  options.embedding = embedding;
  options.attention = attention;
  options.visual_width = channels;
  options.hidden = detail::matrix_size(captioner.weights, "decoder.output.weight", kOp)[1];
  options.tanh_scores = options.tanh_start = false;
  captioner.name = "sgrvinod's Show, Attend and Tell";
  captioner.backbone = detail::resnet_of(captioner.weights, kOp).name();
  captioner.options = {{"classes", 0}};
  captioner.decoder = LstmDecoder(options)->describe();
  captioner.tokenizer = "word_map";
  captioner.licence = "MIT (code); of the weights, see where they are from";
  captioner.preprocessing.mode = ResizeMode::squash;
  captioner.preprocessing.height = captioner.preprocessing.width = 256;
  return captioner;
}

}  // namespace gaze::models
