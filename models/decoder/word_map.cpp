#include "models/decoder/word_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/decoder/small_file.h"
#include "models/decoder/vocabulary.h"
#include "modules/core/check.h"
#include "modules/core/error.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "word_map";
constexpr char kNextStep[] = "give the WORDMAP_*.json that was written with the checkpoint";

// Words by id. Throws ArgumentError.
std::vector<std::string> in_order(const nlohmann::json& map) {
  check_that(map.is_object(), kOp, "an object of words and their ids", map.type_name());
  std::vector<std::string> words(map.size());
  std::vector<bool> taken(map.size(), false);
  for (const auto& [word, id] : map.items()) {
    const bool fits = id.is_number_integer() && id >= 0 && id < static_cast<int64_t>(map.size());
    check_that(fits, kOp, fmt::format("ids in 0..{}, as there are {} words", map.size() - 1, map.size()),
               fmt::format("\"{}\": {}", word, id.dump()));
    const auto place = id.get<size_t>();
    check_that(!taken[place], kOp, "a word for each id", fmt::format("two for {}", place));
    taken[place] = true;
    words[place] = word;
  }
  return words;
}

}  // namespace

WordMap::WordMap(std::vector<std::string> words) : words_(std::move(words)) {
  for (int64_t id = 0; id < size(); ++id) {
    const std::string& word = words_[static_cast<size_t>(id)];
    const std::vector<std::string> parts = split_words(word);
    check_that(parts.size() == 1 && parts.front().size() == word.size(), kOp, "words without white space",
               fmt::format("\"{}\" for {}", word, id));
    check_that(ids_.emplace(word, id).second, kOp, "distinct words", fmt::format("\"{}\" again", word));
  }
  const auto special = [&](const char* name) {
    const auto found = ids_.find(name);
    check_that(found != ids_.end(), kOp, fmt::format("{} among the words", name),
               fmt::format("{} words without", size()));
    return found->second;
  };
  specials_ = {special("<pad>"), special("<start>"), special("<end>"), special("<unk>")};
}

WordMap WordMap::from_file(const std::filesystem::path& path) {
  const std::string text = read_small_file(path, kNextStep);
  const nlohmann::json map = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (map.is_discarded()) throw FileError(path.string(), "is no JSON", kNextStep);
  try {
    return WordMap(in_order(map));
  } catch (const ArgumentError& error) {
    throw FileError(path.string(), fmt::format("is no word map: {}", error.what()), kNextStep);
  }
}

WordMap WordMap::from_json(const nlohmann::json& json) {
  const auto data = json.find("data");
  check_that(data != json.end() && data->is_array(), kOp, "a list \"data\"",
             data == json.end() ? "none" : data->type_name());
  std::vector<std::string> words;
  for (const nlohmann::json& word : *data) {
    check_that(word.is_string(), kOp, fmt::format("a word at data[{}]", words.size()), word.type_name());
    words.push_back(word);
  }
  return WordMap(std::move(words));
}

nlohmann::json WordMap::to_json() const {
  return {{"kind", "word_map"}, {"data", words_}};
}

const std::string& WordMap::word(int64_t id) const {
  check_that(id >= 0 && id < size(), kOp, fmt::format("id in 0..{}", size() - 1), fmt::format("id {}", id));
  return words_[static_cast<size_t>(id)];
}

std::vector<int64_t> WordMap::encode(const std::string& text) const {
  std::vector<int64_t> ids;
  for (const std::string& word : split_words(text)) {
    const auto found = ids_.find(word);
    // No text is a special entry.
    const bool known = found != ids_.end() && !specials_.has(found->second);
    ids.push_back(known ? found->second : specials_.unknown);
  }
  return ids;
}

std::string WordMap::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  for (const TokenSpan& span : words(ids)) text += (text.empty() ? "" : " ") + span.text;
  return text;
}

std::vector<TokenSpan> WordMap::words(const std::vector<int64_t>& ids) const {
  std::vector<TokenSpan> spans;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& text = word(ids[i]);
    if (!specials_.has(ids[i])) spans.push_back({text, i, i + 1});
  }
  return spans;
}

}  // namespace gaze::models
