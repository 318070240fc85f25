// The way out: a trained captioner as a model file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/backbone/backbone.h"
#include "models/checkpoint/model_file.h"
#include "models/decoder/tokenizer.h"
#include "models/decoder/word_decoder.h"
#include "models/image/preprocess.h"

namespace gaze::models {

// The model file of a captioner: what Captioner(ModelFile) reads. Kernels and matrices become float16,
// vectors (biases, norm statistics) stay float32; integer buffers are left out. `provenance`: {recipe, data,
// licence, seed, scores}.
ModelFile make_model_file(Backbone& backbone, WordDecoder& decoder, const Tokenizer& tokenizer,
                          const Preprocessing& preprocessing, const nlohmann::json& provenance);

}  // namespace gaze::models
