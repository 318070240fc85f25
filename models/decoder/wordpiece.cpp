#include "models/decoder/wordpiece.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/decoder/bert_words.h"
#include "models/decoder/small_file.h"
#include "modules/core/check.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

constexpr std::string_view kContinues = "##";
constexpr const char* kGiveVocabulary = "give the vocab.txt of an uncased BERT, a token a line";

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool has_upper_case(const std::string& token) {
  const bool bracketed = token.front() == '[' && token.back() == ']';
  return !bracketed && std::any_of(token.begin(), token.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// What is wrong with a list of tokens: nothing where `got` is empty.
struct Problem {
  std::string expected, got;
};

Problem problem_of(const std::vector<std::string>& tokens) {
  std::unordered_map<std::string_view, size_t> first;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string& token = tokens[id];
    if (token.empty()) return {"no empty token", fmt::format("one of id {}", id)};
    if (valid_utf8_bytes(token) < token.size())
      return {"tokens in UTF-8", fmt::format("other bytes in the one of id {}", id)};
    if (has_upper_case(token))
      return {"lower-case tokens, those of an uncased BERT", fmt::format("\"{}\" of id {}", token, id)};
    const auto [other, is_new] = first.emplace(token, id);
    if (!is_new) return {"distinct tokens", fmt::format("\"{}\" of ids {} and {}", token, other->second, id)};
  }
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    if (first.count(special) == 0)
      return {"[PAD], [UNK], [CLS] and [SEP] among the tokens",
              fmt::format("{} tokens without {}", tokens.size(), special)};
  }
  return {};
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

WordPiece::WordPiece(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
  const Problem problem = problem_of(tokens_);
  check_that(problem.got.empty(), "wordpiece", problem.expected, problem.got);
  for (int64_t id = 0; id < size(); ++id) {
    std::string_view key = tokens_[static_cast<size_t>(id)];
    const bool continues = starts_with(key, kContinues);
    if (continues) key.remove_prefix(kContinues.size());
    (continues ? continuations_ : starts_).emplace(key, id);
    longest_ = std::max(longest_, key.size());
  }
  specials_ = {starts_.at("[PAD]"), starts_.at("[CLS]"), starts_.at("[SEP]"), starts_.at("[UNK]")};
  const auto mask = starts_.find("[MASK]");
  if (mask != starts_.end()) mask_ = mask->second;
}

WordPiece WordPiece::from_file(const std::filesystem::path& path) {
  const std::string text = read_small_file(path, kGiveVocabulary);
  const std::vector<std::string_view> lines = lines_of(text);
  std::vector<std::string> tokens(lines.begin(), lines.end());
  const Problem problem = problem_of(tokens);
  if (!problem.got.empty())
    throw FileError(path.string(), fmt::format("expected {}; got {}", problem.expected, problem.got),
                    std::string(kGiveVocabulary) + " (line 1 has id 0)");
  return WordPiece(std::move(tokens));
}

WordPiece WordPiece::from_json(const nlohmann::json& json) {
  const auto data = json.find("data");
  check_that(data != json.end() && data->is_array(), "wordpiece", "a list \"data\"",
             data == json.end() ? "none" : data->type_name());
  std::vector<std::string> tokens;
  tokens.reserve(data->size());
  for (const nlohmann::json& token : *data) {
    check_that(token.is_string(), "wordpiece", fmt::format("a text at data[{}]", tokens.size()),
               token.type_name());
    tokens.push_back(token.get<std::string>());
  }
  return WordPiece(std::move(tokens));
}

nlohmann::json WordPiece::to_json() const {
  return {{"kind", "wordpiece"}, {"data", tokens_}};
}

void WordPiece::append_pieces(const std::string& word, std::vector<int64_t>& ids) const {
  const size_t before = ids.size();
  bool known = character_count(word) <= kLongestWord;
  for (size_t begin = 0; known && begin < word.size();) {
    const auto& pieces = begin == 0 ? starts_ : continuations_;
    size_t length = std::min(longest_, word.size() - begin);
    auto piece = pieces.end();
    for (; length > 0 && piece == pieces.end(); --length)
      piece = pieces.find(std::string_view(word).substr(begin, length));
    known = piece != pieces.end();
    if (known) {
      ids.push_back(piece->second);
      begin += piece->first.size();
    }
  }
  if (!known) {
    ids.resize(before);
    ids.push_back(specials_.unknown);
  }
}

std::vector<int64_t> WordPiece::encode(const std::string& text) const {
  std::vector<int64_t> ids;
  for (const std::string& word : bert_words(text)) append_pieces(word, ids);
  return ids;
}

const std::string& WordPiece::token(int64_t id) const {
  check_that(id >= 0 && id < size(), "wordpiece", fmt::format("id in 0..{}", size() - 1),
             fmt::format("id {}", id));
  return tokens_[static_cast<size_t>(id)];
}

std::string WordPiece::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  for (const int64_t id : ids) {
    std::string_view next = token(id);
    if (is_dropped(id)) continue;
    if (!text.empty()) {
      if (starts_with(next, kContinues)) {
        next.remove_prefix(kContinues.size());
      } else {
        text += ' ';
      }
    }
    text += next;
  }
  for (const auto& [from, to] : {std::pair(" .", "."),
                                 {" ?", "?"},
                                 {" !", "!"},
                                 {" ,", ","},
                                 {" ' ", "'"},
                                 {" n't", "n't"},
                                 {" 'm", "'m"},
                                 {" 's", "'s"},
                                 {" 've", "'ve"},
                                 {" 're", "'re"}})
    replace_all(text, from, to);
  return text;
}

std::vector<TokenSpan> WordPiece::words(const std::vector<int64_t>& ids) const {
  std::vector<TokenSpan> spans;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& next = token(ids[i]);
    if (is_dropped(ids[i])) continue;
    if (starts_with(next, kContinues) && !spans.empty() && spans.back().last == i) {
      spans.back().text += next.substr(kContinues.size());
      ++spans.back().last;
    } else {
      spans.push_back({next, i, i + 1});
    }
  }
  return spans;
}

}  // namespace gaze::models
