#include "models/decoder/byte_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "models/decoder/gpt2_words.h"
#include "models/decoder/small_file.h"
#include "models/decoder/unicode_text.h"
#include "modules/core/check.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

constexpr int64_t kNone = -1;
constexpr const char* kGiveVocabulary = "give the vocab.json of a byte-level BPE, {token: id}";
constexpr const char* kGiveMerges = "give the merges.txt that belongs to the vocab.json";

bool is_printable(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// The character of each byte.
std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> result{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) result[byte] = is_printable(byte) ? byte : next++;
  return result;
}

// The bytes that a token stands for; a special one, whose characters need not be bytes', as it is.
std::string bytes_of(const std::string& token) {
  static const auto bytes = [] {
    std::unordered_map<char32_t, char> map;
    const auto all = byte_characters();
    for (size_t byte = 0; byte < 256; ++byte) map[all[byte]] = static_cast<char>(byte);
    return map;
  }();
  std::string result;
  for (const std::string_view character : characters(token)) {
    const auto byte = bytes.find(code_point(character));
    if (byte == bytes.end()) return token;
    result += byte->second;
  }
  return result;
}

uint64_t pair_key(int64_t left, int64_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
}

std::string trimmed(std::string_view text) {
  const std::vector<std::string_view> all = characters(text);
  const auto is_text = [](std::string_view character) { return !is_white_space(code_point(character)); };
  const auto first = std::find_if(all.begin(), all.end(), is_text);
  if (first == all.end()) return "";
  const auto last = std::find_if(all.rbegin(), all.rend(), is_text);
  return {first->data(), last->data() + last->size()};
}

std::vector<std::string> texts(const nlohmann::json& json, const char* key) {
  const auto list = json.find(key);
  check_that(list != json.end() && list->is_array(), "byte_bpe", fmt::format("a list \"{}\"", key),
             list == json.end() ? "none" : list->type_name());
  std::vector<std::string> result;
  result.reserve(list->size());
  for (const nlohmann::json& text : *list) {
    check_that(text.is_string(), "byte_bpe", fmt::format("a text at {}[{}]", key, result.size()),
               text.type_name());
    result.push_back(text.get<std::string>());
  }
  return result;
}

// The tokens of a vocab.json, in the order of their ids.
std::vector<std::string> read_tokens(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& problem) {
    throw FileError(path.string(), problem, kGiveVocabulary);
  };
  const nlohmann::json json =
      nlohmann::json::parse(read_small_file(path, kGiveVocabulary), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) fail(json.is_discarded() ? "is no JSON" : "is no JSON object");
  std::vector<std::string> tokens(json.size());
  std::vector<bool> taken(json.size());
  for (const auto& [token, id] : json.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= json.size())
      fail(fmt::format("expected ids 0..{}; got {} of \"{}\"", json.size() - 1, id.dump(), token));
    const auto place = id.get<size_t>();
    if (taken[place])
      fail(fmt::format("expected distinct ids; got {} of \"{}\" and \"{}\"", place, tokens[place], token));
    taken[place] = true;
    tokens[place] = token;
  }
  return tokens;
}

std::vector<std::string> read_merges(const std::filesystem::path& path) {
  const std::string text = read_small_file(path, kGiveMerges);
  if (valid_utf8_bytes(text) < text.size()) throw FileError(path.string(), "is not UTF-8", kGiveMerges);
  std::vector<std::string> merges;
  for (const std::string_view line : lines_of(text)) {
    const bool version = merges.empty() && line.substr(0, 8) == "#version";
    if (!line.empty() && !version) merges.emplace_back(line);
  }
  return merges;
}

}  // namespace

ByteBpe::ByteBpe(std::vector<std::string> tokens, const std::vector<std::string>& merges)
    : tokens_(std::move(tokens)), merges_(merges) {
  std::unordered_map<std::string, int64_t> ids;
  for (int64_t id = 0; id < size(); ++id) {
    const std::string& token = tokens_[static_cast<size_t>(id)];
    check_that(!token.empty() && valid_utf8_bytes(token) == token.size(), "byte_bpe",
               "tokens of one UTF-8 character or more", fmt::format("another one of id {}", id));
    const auto [other, is_new] = ids.emplace(token, id);
    check_that(is_new, "byte_bpe", "distinct tokens",
               fmt::format("\"{}\" of ids {} and {}", token, other->second, id));
    bytes_.push_back(bytes_of(token));
  }
  const auto id_of = [&](const std::string& token) {
    const auto found = ids.find(token);
    return found == ids.end() ? kNone : found->second;
  };
  const auto first_of = [&](std::initializer_list<const char*> names, int64_t otherwise) {
    for (const char* name : names) {
      if (id_of(name) != kNone) return id_of(name);
    }
    return otherwise;
  };
  specials_.end = first_of({"</s>", "<|endoftext|>"}, kNone);
  check_that(specials_.end != kNone, "byte_bpe", "</s> or <|endoftext|> among the tokens",
             fmt::format("{} tokens without", size()));
  specials_.start = first_of({"<s>", "<|endoftext|>"}, specials_.end);
  specials_.pad = first_of({"<pad>", "<|pad|>", "<|endoftext|>"}, specials_.end);
  specials_.unknown = first_of({"<unk>", "<|endoftext|>"}, specials_.end);

  const auto all = byte_characters();
  for (size_t byte = 0; byte < 256; ++byte) {
    const int64_t token = id_of(utf8_text(all[byte]));
    byte_tokens_[byte] = token == kNone ? specials_.unknown : token;
  }
  for (size_t i = 0; i < merges_.size(); ++i) {
    const std::string& merge = merges_[i];
    const size_t space = merge.find(' ');
    const bool is_pair = space != std::string::npos && merge.find(' ', space + 1) == std::string::npos;
    check_that(is_pair, "byte_bpe", fmt::format("\"LEFT RIGHT\" as merge {}", i),
               fmt::format("\"{}\"", merge));
    const std::string left = merge.substr(0, space), right = merge.substr(space + 1);
    for (const std::string& part : {left, right, left + right}) {
      check_that(id_of(part) != kNone, "byte_bpe",
                 fmt::format("\"{}\" of merge {} among the tokens", part, i),
                 fmt::format("{} tokens without", size()));
    }
    const Merge made{static_cast<int64_t>(i), id_of(left + right)};
    check_that(ranks_.emplace(pair_key(id_of(left), id_of(right)), made).second, "byte_bpe",
               fmt::format("distinct merges, {} new", i), fmt::format("\"{}\" again", merge));
  }
}

ByteBpe ByteBpe::from_files(const std::filesystem::path& vocabulary, const std::filesystem::path& merges) {
  std::vector<std::string> tokens = read_tokens(vocabulary), pairs = read_merges(merges);
  try {
    return {std::move(tokens), pairs};
  } catch (const ArgumentError& error) {
    throw FileError(vocabulary.string(), fmt::format("does not fit {}: {}", merges.string(), error.what()),
                    "give the vocab.json and merges.txt of one model");
  }
}

ByteBpe ByteBpe::from_json(const nlohmann::json& json) {
  return {texts(json, "data"), texts(json, "merges")};
}

nlohmann::json ByteBpe::to_json() const {
  return {{"kind", "byte_bpe"}, {"data", tokens_}, {"merges", merges_}};
}

void ByteBpe::append_tokens(std::string_view word, std::vector<int64_t>& ids) const {
  std::vector<int64_t> parts;
  parts.reserve(word.size());
  for (const char byte : word) parts.push_back(byte_tokens_[static_cast<uint8_t>(byte)]);
  while (parts.size() > 1) {
    const Merge* best = nullptr;
    uint64_t best_key = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const uint64_t key = pair_key(parts[i], parts[i + 1]);
      const auto merge = ranks_.find(key);
      if (merge == ranks_.end() || (best != nullptr && merge->second.rank >= best->rank)) continue;
      best = &merge->second;
      best_key = key;
    }
    if (best == nullptr) break;
    size_t kept = 0;
    for (size_t i = 0; i < parts.size(); ++kept) {
      const bool merges = i + 1 < parts.size() && pair_key(parts[i], parts[i + 1]) == best_key;
      parts[kept] = merges ? best->token : parts[i];
      i += merges ? 2 : 1;
    }
    parts.resize(kept);
  }
  ids.insert(ids.end(), parts.begin(), parts.end());
}

std::vector<int64_t> ByteBpe::encode(const std::string& text) const {
  std::vector<int64_t> ids;
  for (const std::string_view word : gpt2_words(text)) append_tokens(word, ids);
  return ids;
}

const std::string& ByteBpe::bytes(int64_t id) const {
  check_that(id >= 0 && id < size(), "byte_bpe", fmt::format("id in 0..{}", size() - 1),
             fmt::format("id {}", id));
  return bytes_[static_cast<size_t>(id)];
}

std::string ByteBpe::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  for (const int64_t id : ids) {
    const std::string& next = bytes(id);
    if (!specials_.has(id)) text += next;
  }
  return trimmed(with_replacements(text));
}

std::vector<TokenSpan> ByteBpe::words(const std::vector<int64_t>& ids) const {
  std::vector<TokenSpan> spans;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& next = bytes(ids[i]);
    if (specials_.has(ids[i])) continue;
    const bool after_space = is_white_space(code_point(characters(next).front()));
    if (after_space || spans.empty() || spans.back().last != i) spans.push_back({"", i, i});
    spans.back().text += next;
    spans.back().last = i + 1;
  }
  for (TokenSpan& span : spans) span.text = trimmed(with_replacements(span.text));
  spans.erase(std::remove_if(spans.begin(), spans.end(), [](const TokenSpan& s) { return s.text.empty(); }),
              spans.end());
  return spans;
}

std::vector<std::vector<int64_t>> ByteBpe::phrases(const std::string& text) const {
  const std::string words = trimmed(text);
  return {encode(" " + words), encode(words)};
}

}  // namespace gaze::models
