#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/backbone/backbone.h"
#include "models/captioner/published_captioner.h"
#include "models/checkpoint/resnet_shape.h"
#include "models/decoder/lstm_decoder.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "sgrvinod";

// The starts of names there and here. The encoder is a Sequential of a ResNet's first eight children.
constexpr std::array<std::pair<const char*, const char*>, 15> kRenamed = {{
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
}};

std::string renamed(const std::string& name) {
  for (const auto& [from, to] : kRenamed) {
    const std::string start = from;
    if (name.compare(0, start.size(), start) == 0) return to + name.substr(start.size());
  }
  throw ArgumentError(
      fmt::format("[{}] expected the tensors of its encoder and decoder; got {} too", kOp, name));
}

// Rows and columns of a matrix that must be there.
std::array<int64_t, 2> matrix(const StateDict& weights, const std::string& name) {
  const auto found = weights.find(name);
  check_that(found != weights.end(), kOp, fmt::format("the tensor {}", name), "none");
  check_that(found->second.dim() == 2, kOp, fmt::format("a matrix {}", name),
             fmt::format("{} axes", found->second.dim()));
  return {found->second.size(0), found->second.size(1)};
}

std::string network_of(const StateDict& weights) {
  TensorSummaries tensors;
  for (const auto& [name, tensor] : weights) tensors[name] = {tensor.scalar_type(), tensor.sizes().vec()};
  const std::string name = resnet_shape(tensors, "backbone.").name();
  const std::vector<std::string> known = backbone_names();
  check_that(std::find(known.begin(), known.end(), name) != known.end(), kOp,
             "an encoder that is one of gaze's ResNets", name);
  return name;
}

}  // namespace

std::optional<PublishedCaptioner> sgrvinod_captioner(const StateDict& state) {
  if (state.count("decoder.attention.full_att.weight") == 0 || state.count("encoder.resnet.0.weight") == 0)
    return std::nullopt;
  PublishedCaptioner captioner;
  for (const auto& [name, tensor] : state) captioner.weights.emplace(renamed(name), tensor);
  const auto [vocabulary, embedding] = matrix(captioner.weights, "decoder.embedding.weight");
  const auto [attention, channels] = matrix(captioner.weights, "decoder.project_cells.weight");
  LstmDecoderOptions options;
  options.vocabulary = vocabulary;
  options.embedding = embedding;
  options.attention = attention;
  options.visual_width = channels;
  options.hidden = matrix(captioner.weights, "decoder.output.weight")[1];
  options.tanh_scores = options.tanh_start = false;
  captioner.name = "sgrvinod's Show, Attend and Tell";
  captioner.backbone = network_of(captioner.weights);
  captioner.options = {{"classes", 0}};
  captioner.decoder = LstmDecoder(options)->describe();
  captioner.licence = "MIT (code); of the weights, see where they are from";
  captioner.preprocessing.mode = ResizeMode::squash;
  captioner.preprocessing.height = captioner.preprocessing.width = 256;
  return captioner;
}

}  // namespace gaze::models
