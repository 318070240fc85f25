#include "models/captioner/captioner.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "models/backbone/load_backbone.h"
#include "modules/core/check.h"
#include "modules/core/without_warnings.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "captioner";
constexpr int64_t kWordEvidence = 3;

// Runs what reads one part of a model, so that its error names the part.
template <typename F>
auto reading(const char* part, F&& read) {
  try {
    return read();
  } catch (const ArgumentError& error) {
    throw ArgumentError(fmt::format("[{}] the model's {} does not fit: {}", kOp, part, error.what()));
  }
}

// The classes that a word's map [rows, cols] spoke for, given each cell's probabilities [rows * cols, K].
std::vector<WordEvidence> word_evidence(const torch::Tensor& map, const torch::Tensor& probabilities,
                                        const std::vector<std::string>& labels) {
  const torch::Tensor weights = torch::matmul(map.flatten(), probabilities);  // [K]
  const auto [heaviest, classes] = weights.topk(std::min(kWordEvidence, weights.size(0)));
  std::vector<WordEvidence> evidence;
  for (int64_t i = 0; i < heaviest.size(0); ++i) {
    const int64_t k = classes[i].item<int64_t>();
    const bool named = k < static_cast<int64_t>(labels.size());
    evidence.push_back(
        {named ? labels[static_cast<size_t>(k)] : fmt::format("class {}", k), heaviest[i].item<double>()});
  }
  return evidence;
}

}  // namespace

Captioner::Captioner(const ModelFile& model) {
  const nlohmann::json& description = model.description;
  for (const char* part : {"task", "backbone", "decoder", "tokenizer", "preprocessing"}) {
    check_that(description.is_object() && description.contains(part), kOp,
               fmt::format("a model with \"{}\"", part), "one without");
  }
  check_that(description["task"] == "caption", kOp, "a model of the task \"caption\"",
             fmt::format("task {}", description["task"].dump()));
  backbone_ = reading("backbone", [&] { return load_backbone(model); });
  tokenizer_ = reading("tokenizer", [&] { return tokenizer_from_json(description["tokenizer"]); });
  preprocessing_ =
      reading("preprocessing", [&] { return preprocessing_from_json(description["preprocessing"]); });
  decoder_ = reading("decoder", [&] {
    const WithoutWarnings quiet;
    std::shared_ptr<WordDecoder> decoder = word_decoder_from_json(description["decoder"]);
    check_that(decoder->vocabulary() == tokenizer_->size(), kOp,
               fmt::format("the tokenizer's {} words", tokenizer_->size()),
               fmt::format("vocabulary {}", decoder->vocabulary()));
    const bool by_class = decoder->visual_input() == VisualInput::class_evidence;
    const int64_t width = by_class ? backbone_->classes() : backbone_->channels();
    check_that(decoder->visual_width() == width, kOp,
               fmt::format("the backbone's {} {}", width, by_class ? "classes" : "channels"),
               fmt::format("visual_width {}", decoder->visual_width()));
    load_state_dict(*decoder, with_prefix(model.weights, "decoder."));
    return decoder;
  });
  if (description.contains("labels")) labels_ = description["labels"].get<std::vector<std::string>>();
  check_that(labels_.empty() || static_cast<int64_t>(labels_.size()) == backbone_->classes(), kOp,
             fmt::format("a label for each of the backbone's {} classes", backbone_->classes()),
             fmt::format("{} labels", labels_.size()));
  backbone_->eval();
  decoder_->eval();
}

Captioner Captioner::load(const std::filesystem::path& path) {
  const ModelFile model = read_model_file(path);
  try {
    return Captioner(model);
  } catch (const ArgumentError& error) {
    throw FileError(path.string(), fmt::format("this model cannot caption: {}", error.what()),
                    "give a caption model, or the gaze that wrote this one");
  }
}

void Captioner::use_backbone(std::shared_ptr<Backbone> backbone) {
  check_that(decoder_->visual_input() == VisualInput::class_evidence, kOp,
             "a decoder of class evidence, to use it with another backbone", "one of features");
  check_that(backbone->classes() == backbone_->classes(), kOp,
             fmt::format("a backbone with {} classes", backbone_->classes()),
             fmt::format("{} with {}", backbone->name(), backbone->classes()));
  backbone_ = std::move(backbone);
  backbone_->eval();
  const Preprocessing own = backbone_->preprocessing();
  preprocessing_.mean = own.mean;
  preprocessing_.std = own.std;
}

torch::Tensor Captioner::visual(const torch::Tensor& x) {
  if (decoder_->visual_input() == VisualInput::class_evidence) return backbone_->class_evidence(x);
  return backbone_->stages(x).back().value;
}

std::vector<CaptionedImage> Captioner::caption(const std::vector<Image>& images, const SearchOptions& options,
                                               bool record_maps) {
  return caption_prepared(prepare(images), options, record_maps);
}

std::vector<CaptionedImage> Captioner::score(const std::vector<Image>& images, const std::string& text,
                                             const SearchOptions& options, bool record_maps) {
  return score_prepared(prepare(images), text, options, record_maps);
}

std::vector<CaptionedImage> Captioner::caption_prepared(const std::vector<PreparedImage>& images,
                                                        const SearchOptions& options, bool record_maps) {
  const std::vector<uint64_t>& numbers = options.sampling.inputs;
  check_that(numbers.empty() || numbers.size() == images.size(), kOp,
             fmt::format("numbers of {} images", images.size()), fmt::format("{}", numbers.size()));
  SearchOptions own = options;
  own.specials = tokenizer_->specials();
  return describe(images, record_maps, [&](const torch::Tensor& memory, const std::vector<size_t>& places) {
    own.sampling.inputs.clear();
    for (const size_t b : places) own.sampling.inputs.push_back(numbers.empty() ? b : numbers[b]);
    return search(*decoder_, memory, own);
  });
}

std::vector<CaptionedImage> Captioner::score_prepared(const std::vector<PreparedImage>& images,
                                                      const std::string& text, const SearchOptions& options,
                                                      bool record_maps) {
  SearchOptions own = options;
  own.specials = tokenizer_->specials();
  std::vector<int64_t> tokens = tokenizer_->encode(text);
  tokens.push_back(own.specials.end);
  return describe(images, record_maps, [&](const torch::Tensor& memory, const std::vector<size_t>& places) {
    std::vector<std::vector<Hypothesis>> said;
    for (Hypothesis& scored : score_tokens(*decoder_, memory, std::vector(places.size(), tokens), own)) {
      said.push_back({std::move(scored)});
    }
    return said;
  });
}

std::vector<PreparedImage> Captioner::prepare(const std::vector<Image>& images) const {
  std::vector<PreparedImage> prepared;
  prepared.reserve(images.size());
  for (const Image& image : images) prepared.push_back(preprocess(image, preprocessing_));
  return prepared;
}

std::vector<CaptionedImage> Captioner::describe(const std::vector<PreparedImage>& images, bool record_maps,
                                                const Say& say) {
  std::vector<CaptionedImage> results(images.size());
  // Inputs of one size go through the network together.
  std::map<std::pair<int64_t, int64_t>, Batch> batches;
  for (size_t b = 0; b < images.size(); ++b) {
    const torch::Tensor& input = images[b].input;  // [3, H, W]
    results[b].geometry = images[b].geometry;
    Batch& batch = batches[{input.size(1), input.size(2)}];
    batch.inputs.push_back(input);
    batch.results.push_back(&results[b]);
    batch.places.push_back(b);
  }
  for (auto& [size, batch] : batches) describe(batch, record_maps, say);
  return results;
}

void Captioner::describe(const Batch& batch, bool record_maps, const Say& say) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor x = torch::stack(batch.inputs);  // [B, 3, H, W]
  torch::Tensor seen;                                  // [B, K or C, h, w]
  std::vector<AttentionMap> maps;
  {
    std::optional<MapRecorder> recorder;
    if (record_maps) recorder.emplace();
    seen = visual(x);
    if (record_maps) maps = recorder->maps();
  }
  const PictureTokens picture = decoder_->look_at(seen);
  const std::vector<std::vector<Hypothesis>> hypotheses = say(picture.memory, batch.places);
  for (size_t b = 0; b < batch.results.size(); ++b) {
    const auto index = static_cast<int64_t>(b);
    CaptionedImage& result = *batch.results[b];
    result.rows = picture.rows;
    result.cols = picture.cols;
    for (const AttentionMap& map : maps) {
      result.maps.push_back({map.name, map.kind, map.values.narrow(0, index, 1).clone()});
    }
    result.evidence.rows = result.rows;
    result.evidence.cols = result.cols;
    if (decoder_->visual_input() == VisualInput::class_evidence) {
      const torch::Tensor cells = seen[index].flatten(1).t();                           // [h * w, K]
      result.evidence.probabilities = cells.to(torch::kFloat).softmax(1).contiguous();  // [h * w, K]
    }
    result.captions = read(hypotheses[b], result);
  }
}

std::vector<Caption> Captioner::read(const std::vector<Hypothesis>& hypotheses,
                                     const CaptionedImage& image) const {
  std::vector<Caption> captions;
  for (const Hypothesis& hypothesis : hypotheses) {
    Caption caption;
    caption.text = tokenizer_->decode(hypothesis.tokens);
    caption.log_probability = hypothesis.log_probability;
    caption.score = hypothesis.score;
    caption.finished = hypothesis.finished;
    caption.tokens = hypothesis.tokens;
    for (TokenSpan& span : tokenizer_->words(hypothesis.tokens)) {
      CaptionWord word;
      word.text = std::move(span.text);
      torch::Tensor maps;  // [N, S], the sum of the pieces'
      for (size_t i = span.first; i < span.last; ++i) {
        word.log_probability += hypothesis.log_probabilities[i];
        const torch::Tensor map = hypothesis.maps[i].to(torch::kFloat);
        maps = maps.defined() ? maps + map : map;
      }
      word.head_maps = maps.div(static_cast<double>(span.last - span.first))
                           .view({-1, image.rows, image.cols});  // [N, rows, cols]
      word.map = word.head_maps.mean(0);                         // [rows, cols]
      if (image.evidence.probabilities.defined()) {
        word.evidence = word_evidence(word.map, image.evidence.probabilities, labels_);
      }
      caption.words.push_back(std::move(word));
    }
    captions.push_back(std::move(caption));
  }
  return captions;
}

}  // namespace gaze::models
