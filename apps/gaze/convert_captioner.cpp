#include "apps/gaze/convert_captioner.h"

#include <fmt/format.h>

#include <memory>

#include "apps/gaze/command.h"
#include "models/captioner/captioner.h"
#include "models/decoder/word_map.h"
#include "models/decoder/wordpiece.h"
#include "modules/core/error.h"

namespace gaze::apps {
namespace {

using nlohmann::json;

// The words that go with the captioner's weights.
std::shared_ptr<const models::Tokenizer> read_words(const std::filesystem::path& in,
                                                    const models::PublishedCaptioner& captioner,
                                                    const WordFiles& words) {
  const bool pieces = captioner.tokenizer == "wordpiece";
  const std::filesystem::path& file = pieces ? words.vocab : words.word_map;
  if (file.empty()) {
    throw UsageError(fmt::format("{} holds {}: give its words with {}", in.string(), captioner.name,
                                 pieces ? "--vocab vocab.txt" : "--word-map WORDMAP.json"));
  }
  std::shared_ptr<const models::Tokenizer> tokenizer;
  if (pieces) {
    tokenizer = std::make_shared<models::WordPiece>(models::WordPiece::from_file(file));
  } else {
    tokenizer = std::make_shared<models::WordMap>(models::WordMap::from_file(file));
  }
  if (tokenizer->size() != captioner.vocabulary()) {
    throw FileError(file.string(),
                    fmt::format("has {} words, the checkpoint {} has {}", tokenizer->size(), in.string(),
                                captioner.vocabulary()),
                    "give the file that was written with the checkpoint");
  }
  return tokenizer;
}

}  // namespace

json convert_captioner(const std::filesystem::path& in, const std::filesystem::path& out,
                       const models::PublishedCaptioner& captioner, const WordFiles& words) {
  const std::shared_ptr<const models::Tokenizer> tokenizer = read_words(in, captioner, words);
  models::ModelFile model = models::model_of(captioner, *tokenizer);
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
          {"words", tokenizer->size()},
          {"parameters", parameters}};
}

}  // namespace gaze::apps
