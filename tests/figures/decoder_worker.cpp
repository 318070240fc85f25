// decoder_worker THREADS < REQUESTS: what GPT-2's decoder with cross-attention says of pictures that are
// encoded already: 6 layers, width 512, 8 heads, 196 cells, 10,000 words, random weights.
//
// {"batch": 1, "beam": 1, "words": 20}    -> {"ms", "tokens"}: captions that do not end before, and the words
//                                            of all of them
// {"batch": 1, "steps": 20, "repeats": 9} -> {"ms": [the median of each step of a caption]}
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/decoder/search.h"
#include "models/decoder/transformer_decoder.h"
#include "tests/figures/serve.h"

namespace gaze {
namespace {

using nlohmann::json;

constexpr int64_t kCells = 196, kWidth = 512, kVocabulary = 10'000;

models::TransformerDecoder make_decoder() {
  models::TransformerDecoderOptions options;
  options.vocabulary = kVocabulary;
  options.width = options.visual_width = kWidth;
  options.norm_first = options.final_norm = true;
  options.activation = Activation::gelu;
  options.positions = models::WordPositions::learned;
  options.head = models::WordHead::tied;
  models::TransformerDecoder decoder(options);
  decoder->eval();
  return decoder;
}

json caption(models::WordDecoder& decoder, const torch::Tensor& memory, int64_t beam, int64_t words) {
  models::SearchOptions options;
  options.beam = beam;
  options.max_words = words;
  options.constraints.banned = {{options.specials.end}};
  const Stopwatch watch;
  const std::vector<std::vector<models::Hypothesis>> captions = search(decoder, memory, options);
  const double ms = watch.milliseconds();
  size_t tokens = 0;
  for (const std::vector<models::Hypothesis>& of_picture : captions) tokens += of_picture[0].tokens.size();
  return {{"ms", ms}, {"tokens", tokens}};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

json time_steps(models::WordDecoder& decoder, const torch::Tensor& memory, size_t steps, int64_t repeats) {
  std::vector<std::vector<double>> ms(steps);
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    const std::unique_ptr<models::StepDecoder> words = decoder.start(memory, 1);
    for (size_t t = 0; t < steps; ++t) {
      const torch::Tensor tokens = torch::randint(kVocabulary, {memory.size(0)}, torch::kLong);
      const Stopwatch watch;
      words->step(tokens);
      ms[t].push_back(watch.milliseconds());
    }
  }
  json medians = json::array();
  for (const std::vector<double>& step : ms) medians.push_back(median(step));
  return {{"ms", medians}};
}

Answer make() {
  torch::manual_seed(1);
  return [decoder = make_decoder()](const json& request) mutable -> json {
    const torch::NoGradGuard no_grad;
    const torch::Tensor memory = torch::randn({request["batch"], kCells, kWidth});
    if (request.contains("steps")) return time_steps(*decoder, memory, request["steps"], request["repeats"]);
    return caption(*decoder, memory, request["beam"], request["words"]);
  };
}

}  // namespace
}  // namespace gaze

int main(int count, char** arguments) {
  return gaze::serve(count, arguments, gaze::make);
}
