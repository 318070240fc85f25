#include "apps/gaze/caption_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "modules/core/error.h"

namespace gaze::apps {
namespace {

constexpr size_t kImage = 0, kRank = 1;  // of a CSV record

[[noreturn]] void fail(int64_t pictures) {
  throw ArgumentError(fmt::format("what follows {} pictures is no caption", pictures));
}

std::string trimmed(const std::string& line) {
  return line.substr(0, line.find_last_not_of("\r\n") + 1);
}

}  // namespace

bool starts_captions(const std::string& text, CaptionFormat format) {
  const auto starts_as = [&](const std::string& start) {
    const size_t common = std::min(text.size(), start.size());
    return text.compare(0, common, start, 0, common) == 0;
  };
  if (format == CaptionFormat::jsonl) return starts_as("{\"captions\":") || starts_as("{\"error\":");
  return starts_as(caption_header(format));
}

CaptionReader::CaptionReader(std::istream& stream, CaptionFormat format, int64_t best)
    : stream_(stream), format_(format), best_(best), csv_(stream) {
  if (format_ != CaptionFormat::csv) return;
  const std::optional<std::vector<std::string>> header = csv_.next();
  if (!header) return;
  if (csv_record(*header) != caption_header(format)) {
    throw ArgumentError("the first line is not \"" + trimmed(caption_header(format)) + "\"");
  }
  header_ = csv_.bytes();
  record_ = csv_.next();
}

std::optional<ReadCaption> CaptionReader::next() {
  std::optional<ReadCaption> picture = format_ == CaptionFormat::csv ? next_records() : next_line();
  if (picture) ++pictures_;
  return picture;
}

std::optional<ReadCaption> CaptionReader::next_line() {
  std::string line;
  if (!std::getline(stream_, line) || stream_.eof()) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  const bool whole = json.is_object() && json.contains("image") && json["image"].is_string() &&
                     (json.contains("captions") || json.contains("error"));
  if (!whole) fail(pictures_);
  return ReadCaption{json["image"].get<std::string>(), json.contains("error"), line + '\n'};
}

std::optional<ReadCaption> CaptionReader::next_records() {
  if (!record_) return std::nullopt;
  ReadCaption picture;
  int64_t records = 0;
  do {
    if (record_->size() != 9) fail(pictures_);
    if (records == 0) {
      picture.image = (*record_)[kImage];
      picture.failed = (*record_)[kRank].empty();
    }
    picture.bytes += csv_.bytes();
    ++records;
    record_ = csv_.next();
  } while (record_ && record_->size() == 9 && (*record_)[kRank] == fmt::format("{}", records + 1));
  if (!record_ && !picture.failed && records < best_) return std::nullopt;
  return picture;
}

}  // namespace gaze::apps
