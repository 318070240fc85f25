#include "models/decoder/decoder_state.h"

#include <torch/torch.h>

#include "models/decoder/word_decoder.h"

namespace gaze::models {

void DecoderState::reorder(const torch::Tensor& order) {
  const torch::Tensor sources = sources_of(order, beam);
  const RowOrder of_rows(order, rows()), of_pictures(sources, pictures());
  for (LayerState& layer : layers) {
    layer.tokens.reorder(of_rows);
    if (of_pictures.keeps_all()) continue;
    layer.memory.keys = layer.memory.keys.index_select(0, sources);
    layer.memory.values = layer.memory.values.index_select(0, sources);
  }
}

}  // namespace gaze::models
