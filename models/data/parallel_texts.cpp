#include "models/data/parallel_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>

#include "models/data/gettext_catalogue.h"
#include "models/data/message_cleaning.h"
#include "models/data/simple_sentences.h"
#include "models/data/split_by_hash.h"
#include "modules/core/error.h"
#include "modules/core/random.h"

namespace gaze::models {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kOrder = 108;  // the random stream
constexpr const char* kDemonstration = "i love cats";
constexpr size_t kLongestLine = 4096;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), lower);
  return text;
}

// ASCII letters and digits and all other scripts; what is between them is one space.
std::string split_key(const std::string& english) {
  std::string key;
  bool gap = false;
  for (const char raw : english) {
    const char c = lower(raw);
    const bool counts = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<uint8_t>(c) >= 0x80;
    if (counts && gap && !key.empty()) key += ' ';
    if (counts) key += c;
    gap = !counts;
  }
  return key;
}

std::optional<TextPair> stamp_description(const fs::path& file, const std::string& locale) {
  const std::string prefix = locale + ".utf8=";
  std::ifstream stream(file);
  TextPair pair;
  std::string line;
  for (bool first = true; std::getline(stream, line); first = false) {
    if (line.size() > kLongestLine) return std::nullopt;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (first) pair.source = line;
    if (line.rfind(prefix, 0) == 0) pair.target = line.substr(prefix.size());
  }
  return pair.target.empty() ? std::nullopt : std::optional<TextPair>(pair);
}

std::vector<TextPair> catalogue_pairs(const fs::path& file) {
  std::vector<TextPair> pairs;
  for (const CatalogueMessage& message : read_catalogue(file))
    pairs.push_back({message.text, message.translation, {}});
  return pairs;
}

std::vector<TextPair> raw_pairs(const TextSource& source, const ParallelTextOptions& options) {
  const fs::path path = options.folders.root / fmt::format(fmt::runtime(source.path), options.locale);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw FileError(path.string(), "does not exist",
                    fmt::format("install the package {}, or unpack it and give its folder", source.package));
  }
  return fs::is_directory(path, ignored) ? stamp_descriptions(path, options.locale) : catalogue_pairs(path);
}

void shuffle(std::vector<TextPair>& pairs, uint64_t seed) {
  Random random({seed, kOrder});
  for (size_t i = pairs.size(); i > 1; --i)
    std::swap(pairs[i - 1], pairs[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
}

}  // namespace

const std::vector<TextSource>& text_sources() {
  static const std::vector<TextSource> sources = {
      {"tuxpaint-stamps-default", "GPL-2", "usr/share/tuxpaint/stamps"},
      {"tuxpaint-data", "GPL-2+", "usr/share/locale/{}/LC_MESSAGES/tuxpaint.mo"},
      {"aisleriot", "GPL-3+", "usr/share/locale/{}/LC_MESSAGES/aisleriot.mo"}};
  return sources;
}

std::vector<TextPair> stamp_descriptions(const fs::path& folder, const std::string& locale) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() == ".txt") files.push_back(entry->path());
  }
  if (failed)
    throw FileError(folder.string(), "cannot be read (" + failed.message() + ")", "check its permissions");
  std::sort(files.begin(), files.end());
  std::vector<TextPair> pairs;
  for (const fs::path& file : files) {
    if (std::optional<TextPair> pair = stamp_description(file, locale)) pairs.push_back(std::move(*pair));
  }
  return pairs;
}

Split text_split(const std::string& english) {
  const std::string key = split_key(english);
  return key == kDemonstration ? Split::train : split_by_hash(key);
}

std::vector<TextPair> english_chinese_pairs(const ParallelTextOptions& options) {
  if (options.locale != "zh_CN" && options.locale != "zh_TW") {
    throw ArgumentError(
        fmt::format("[english_chinese_pairs] expected locale zh_CN or zh_TW; got locale {}", options.locale));
  }
  std::vector<TextPair> pairs;
  std::set<std::string> seen;
  const auto keep = [&](TextPair pair) {
    if (seen.insert(in_lower_case(pair.source)).second && text_split(pair.source) == options.split)
      pairs.push_back(std::move(pair));
  };
  for (TextPair& pair : simple_sentences(options.locale)) keep(std::move(pair));
  for (const TextSource& source : text_sources()) {
    for (const TextPair& raw : raw_pairs(source, options)) {
      if (std::optional<TextPair> pair = clean_message(raw.source, raw.target)) keep(std::move(*pair));
    }
  }
  shuffle(pairs, options.seed);
  return pairs;
}

}  // namespace gaze::models
