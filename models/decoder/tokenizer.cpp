#include "models/decoder/tokenizer.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "models/decoder/byte_bpe.h"
#include "models/decoder/sentencepiece.h"
#include "models/decoder/vocabulary.h"
#include "models/decoder/word_map.h"
#include "models/decoder/wordpiece.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

using Read = std::function<std::shared_ptr<const Tokenizer>(const nlohmann::json&)>;

// A kind, a line.
const std::map<std::string, Read>& kinds() {
  static const std::map<std::string, Read> all = {
      {"word",
       [](const nlohmann::json& json) { return std::make_shared<Vocabulary>(Vocabulary::from_json(json)); }},
      {"word_map",
       [](const nlohmann::json& json) { return std::make_shared<WordMap>(WordMap::from_json(json)); }},
      {"wordpiece",
       [](const nlohmann::json& json) { return std::make_shared<WordPiece>(WordPiece::from_json(json)); }},
      {"byte_bpe",
       [](const nlohmann::json& json) { return std::make_shared<ByteBpe>(ByteBpe::from_json(json)); }},
      {"sentencepiece",
       [](const nlohmann::json& json) {
         return std::make_shared<SentencePiece>(SentencePiece::from_json(json));
       }},
  };
  return all;
}

}  // namespace

std::shared_ptr<const Tokenizer> tokenizer_from_json(const nlohmann::json& json) {
  check_that(json.is_object() && json.contains("kind") && json["kind"].is_string(), "tokenizer",
             "an object with a text \"kind\"", json.is_object() ? "one without" : json.type_name());
  const std::string kind = json["kind"];
  const auto found = kinds().find(kind);
  if (found == kinds().end()) {
    std::vector<std::string> known;
    for (const auto& [name, read] : kinds()) known.push_back(name);
    fail_unknown("tokenizer", "kind", kind, known);
  }
  return found->second(json);
}

}  // namespace gaze::models
