// A captioned picture as text: for people, as JSON lines, as CSV.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "models/captioner/caption.h"

namespace gaze::apps {

enum class CaptionFormat {
  text,   // "photo.jpg: a dog on grass  (12 %)", a line a caption; failed pictures have none
  jsonl,  // Caption JSON, a line a picture; {"image", "error"} where it failed
  csv,    // RFC 4180, a record a caption, see caption_header(); one with an error where the picture failed
};

// What became of a picture.
struct CaptionOutcome {
  std::string image;                             // its path, see shown_path()
  std::optional<models::CaptionedImage> result;  // nothing: it failed
  std::string error;
};

struct CaptionStyle {
  CaptionFormat format = CaptionFormat::text;
  bool words = false;  // text only: a second line with each word's probability
};

// What comes before all pictures: of CSV "image,rank,caption,log_probability,score,finished,words,
// word_log_probabilities,error". Rank is 1 for the best caption; the words and their natural logarithms of
// probability are as many, with a space between.
std::string caption_header(CaptionFormat format);

// The lines of a picture, each with its line break.
std::string caption_lines(const CaptionOutcome& outcome, const CaptionStyle& style);

// A path as UTF-8; bytes that are none become U+FFFD, the one thing about a path that output loses.
std::string shown_path(const std::filesystem::path& path);

}  // namespace gaze::apps
