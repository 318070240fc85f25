// Captioners that others have published, told by their tensors' names. A format, a file.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/checkpoint/model_file.h"
#include "models/checkpoint/state_dict.h"
#include "models/decoder/tokenizer.h"
#include "models/image/preprocess.h"

namespace gaze::models {

struct PublishedCaptioner {
  std::string name;        // "sgrvinod's Show, Attend and Tell"
  std::string backbone;    // "resnet101"
  nlohmann::json options;  // of the backbone
  int64_t stride = 32;     // of its last stage
  nlohmann::json decoder;  // as WordDecoder::describe() has it
  std::string tokenizer;   // the kind it goes with: "word_map", "wordpiece"
  Preprocessing preprocessing;
  std::string licence;  // of the code it comes from
  StateDict weights;    // by gaze's names, "backbone.*" and "decoder.*", with the file's types

  int64_t vocabulary() const { return decoder.at("vocabulary"); }
};

// The captioner that has such tensors, as read_state_dict() reads them; nothing for what is none. Throws
// ArgumentError for one that is, but has a tensor too many or too few, or of a shape that no such network
// has.
std::optional<PublishedCaptioner> published_captioner(const StateDict& state);

// github.com/sgrvinod/a-PyTorch-Tutorial-to-Image-Captioning: "encoder.resnet.*", "decoder.attention.*" ...
std::optional<PublishedCaptioner> sgrvinod_captioner(const StateDict& state);

// github.com/saahiluppal/catr: "backbone.0.body.*", "transformer.*", "mlp.*". The heads (8), the norms' place
// (first) and the dilation (of layer4, where there are bottlenecks) are its own configuration's.
std::optional<PublishedCaptioner> catr_captioner(const StateDict& state);

// The model file of a captioner with its words, weights with the file's types (halves kept, every other float
// made float32); its provenance is for the caller to tell.
ModelFile model_of(const PublishedCaptioner& captioner, const Tokenizer& tokenizer);

}  // namespace gaze::models
