#include "models/decoder/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "modules/core/check.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

const std::vector<std::string> kSpecialWords = {"<pad>", "<start>", "<end>", "<unk>"};

bool is_space(unsigned char c) {
  return std::isspace(c) != 0;
}

std::string joined(const std::vector<std::string>& words, size_t first, size_t last) {
  std::string text;
  for (size_t i = first; i < last; ++i) text += (i > first ? " " : "") + words[i];
  return text;
}

bool is_token(const std::string& text) {
  const std::vector<std::string_view> all = characters(text);
  return !all.empty() && std::none_of(all.begin(), all.end(), [](std::string_view character) {
    return is_white_space(code_point(character));
  });
}

// What is expected of an entry, "" where it is so.
const char* entry_problem(const std::string& entry, bool word) {
  if (!word) return is_token(entry) ? "" : "a text without white space";
  const std::vector<std::string> words = split_words(entry);
  return !words.empty() && joined(words, 0, words.size()) == entry
             ? ""
             : "lower-case words joined by single spaces";
}

}  // namespace

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (!is_space(static_cast<unsigned char>(c))) {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

Vocabulary::Vocabulary() {
  for (const std::string& special : kSpecialWords) add(special);
}

void Vocabulary::add(const std::string& entry) {
  ids_.emplace(entry, size());
  words_.push_back(entry);
  longest_ = std::max(longest_, split_words(entry).size());
}

std::vector<std::string> Vocabulary::entries(const std::vector<std::string>& words) const {
  std::vector<std::string> found;
  for (size_t at = 0; at < words.size();) {
    size_t length = std::min(longest_, words.size() - at);
    std::string entry = joined(words, at, at + length);
    while (length > 1 && ids_.count(entry) == 0) entry = joined(words, at, at + --length);
    found.push_back(ids_.count(entry) == 0 ? "" : entry);
    at += length;
  }
  return found;
}

Vocabulary Vocabulary::from_captions(const std::vector<std::string>& captions,
                                     const std::vector<std::string>& phrases) {
  Vocabulary fixed;
  std::set<std::string> distinct;
  for (const std::string& phrase : phrases) {
    const std::vector<std::string> words = split_words(phrase);
    distinct.insert(joined(words, 0, words.size()));
  }
  for (const std::string& entry : distinct) fixed.add(entry);
  for (const std::string& caption : captions) {
    const std::vector<std::string> words = split_words(caption);
    size_t at = 0;
    for (const std::string& entry : fixed.entries(words)) {
      if (entry.empty()) distinct.insert(words[at]);
      at += entry.empty() ? 1 : split_words(entry).size();
    }
  }
  Vocabulary vocabulary;
  for (const std::string& entry : distinct) {
    if (vocabulary.ids_.count(entry) == 0) vocabulary.add(entry);
  }
  return vocabulary;
}

Vocabulary Vocabulary::from_tokens(const std::vector<std::string>& tokens) {
  Vocabulary vocabulary;
  for (const std::string& token : std::set<std::string>(tokens.begin(), tokens.end())) {
    check_that(is_token(token), "vocabulary", "tokens without white space", fmt::format("\"{}\"", token));
    if (vocabulary.ids_.count(token) == 0) vocabulary.add(token);
  }
  return vocabulary;
}

Vocabulary Vocabulary::from_json(const nlohmann::json& json, const std::vector<std::string>& kinds) {
  check_that(json.is_object(), "vocabulary", "an object {\"kind\", \"data\"}", json.type_name());
  const auto kind = json.find("kind");
  check_that(kind != json.end() && kind->is_string(), "vocabulary", "a text \"kind\"",
             kind == json.end() ? "none" : kind->type_name());
  const auto known = std::find(kinds.begin(), kinds.end(), kind->get<std::string>());
  if (known == kinds.end()) fail_unknown("vocabulary", "kind", kind->get<std::string>(), kinds);
  const auto data = json.find("data");
  check_that(data != json.end() && data->is_array(), "vocabulary", "a list \"data\"",
             data == json.end() ? "none" : data->type_name());

  Vocabulary vocabulary;
  check_that(data->size() >= kSpecialWords.size(), "vocabulary", "at least the 4 special entries in \"data\"",
             fmt::format("{} entries", data->size()));
  for (size_t id = 0; id < data->size(); ++id) {
    const nlohmann::json& entry = (*data)[id];
    check_that(entry.is_string(), "vocabulary", fmt::format("a word at data[{}]", id), entry.type_name());
    const std::string word = entry.get<std::string>();
    if (id < kSpecialWords.size()) {
      check_that(word == kSpecialWords[id], "vocabulary",
                 fmt::format("\"{}\" at data[{}]", kSpecialWords[id], id), fmt::format("\"{}\"", word));
      continue;
    }
    const std::string problem = entry_problem(word, *known == "word");
    check_that(problem.empty(), "vocabulary", fmt::format("{} at data[{}]", problem, id),
               fmt::format("\"{}\"", word));
    check_that(vocabulary.ids_.count(word) == 0, "vocabulary",
               fmt::format("distinct words, data[{}] new", id), fmt::format("\"{}\" again", word));
    vocabulary.add(word);
  }
  return vocabulary;
}

nlohmann::json Vocabulary::to_json() const {
  return {{"kind", "word"}, {"data", words_}};
}

int64_t Vocabulary::id(const std::string& word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

const std::string& Vocabulary::word(int64_t id) const {
  check_that(id >= 0 && id < size(), "vocabulary", fmt::format("id in 0..{}", size() - 1),
             fmt::format("id {}", id));
  return words_[static_cast<size_t>(id)];
}

std::vector<int64_t> Vocabulary::encode(const std::string& caption) const {
  std::vector<int64_t> ids;
  for (const std::string& entry : entries(split_words(caption))) ids.push_back(id(entry));
  return ids;
}

std::string Vocabulary::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  for (const int64_t id : ids) {
    const std::string& next = word(id);
    if (id < kSpecials) continue;
    if (!text.empty()) text += ' ';
    text += next;
  }
  return text;
}

std::vector<std::vector<int64_t>> Vocabulary::phrases(const std::string& text) const {
  const std::vector<std::string> words = split_words(text);
  std::vector<std::vector<int64_t>> ways;
  if (!words.empty()) add_ways(words, 0, {}, ways);
  if (ways.empty()) ways.push_back(encode(text));
  return ways;
}

void Vocabulary::add_ways(const std::vector<std::string>& words, size_t at, const std::vector<int64_t>& said,
                          std::vector<std::vector<int64_t>>& ways) const {
  for (int64_t id = kSpecials; id < size(); ++id) {
    const std::vector<std::string> entry = split_words(word(id));
    // The first entry may have other words before these, the last one behind them.
    const size_t starts = at == 0 ? entry.size() : 1;
    for (size_t start = 0; start < starts; ++start) {
      const size_t shared = std::min(entry.size() - start, words.size() - at);
      const auto from = words.begin() + static_cast<int64_t>(at);
      if (!std::equal(from, from + static_cast<int64_t>(shared), entry.begin() + static_cast<int64_t>(start)))
        continue;
      std::vector<int64_t> longer = said;
      longer.push_back(id);
      if (at + shared < words.size()) {
        add_ways(words, at + shared, longer, ways);
      } else if (std::find(ways.begin(), ways.end(), longer) == ways.end()) {
        ways.push_back(std::move(longer));
      }
    }
  }
}

std::vector<TokenSpan> Vocabulary::words(const std::vector<int64_t>& ids) const {
  std::vector<TokenSpan> spans;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& text = word(ids[i]);
    if (ids[i] >= kSpecials) spans.push_back({text, i, i + 1});
  }
  return spans;
}

}  // namespace gaze::models
