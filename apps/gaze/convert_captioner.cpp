#include "apps/gaze/convert_captioner.h"

#include <fmt/format.h>

#include "apps/gaze/command.h"
#include "models/captioner/captioner.h"
#include "models/decoder/word_map.h"
#include "modules/core/error.h"

namespace gaze::apps {
namespace {

using nlohmann::json;

// The words that go with the captioner's weights.
models::WordMap read_words(const std::filesystem::path& in, const models::PublishedCaptioner& captioner,
                           const std::filesystem::path& word_map) {
  if (word_map.empty()) {
    throw UsageError(
        fmt::format("{} holds {}: give its words with --word-map WORDMAP.json", in.string(), captioner.name));
  }
  models::WordMap words = models::WordMap::from_file(word_map);
  if (words.size() != captioner.vocabulary()) {
    throw FileError(word_map.string(),
                    fmt::format("has {} words, the checkpoint {} has {}", words.size(), in.string(),
                                captioner.vocabulary()),
                    "give the file that was written with the checkpoint");
  }
  return words;
}

}  // namespace

json convert_captioner(const std::filesystem::path& in, const std::filesystem::path& out,
                       const models::PublishedCaptioner& captioner, const std::filesystem::path& word_map) {
  const models::WordMap words = read_words(in, captioner, word_map);
  models::ModelFile model = models::model_of(captioner, words);
  model.description["provenance"] = {
      {"converted_from", captioner.name}, {"file", in.filename().string()}, {"licence", captioner.licence}};
  try {
    const models::Captioner fits(model);
  } catch (const ArgumentError& error) {
    throw FileError(in.string(), fmt::format("does not fit {}: {}", captioner.name, error.what()),
                    "see its names with gaze inspect --keys");
  }
  models::write_model_file(out, model);
  int64_t parameters = 0;
  for (const auto& [name, tensor] : model.weights) parameters += tensor.numel();
  return {{"recognised", captioner.name},
          {"backbone", captioner.backbone},
          {"decoder", captioner.decoder},
          {"words", words.size()},
          {"parameters", parameters}};
}

}  // namespace gaze::apps
