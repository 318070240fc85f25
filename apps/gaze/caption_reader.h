// Reads back what caption_lines() wrote, picture by picture.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "apps/gaze/caption_output.h"
#include "modules/core/csv.h"

namespace gaze::apps {

struct ReadCaption {
  std::string image;
  bool failed = false;
  std::string bytes;  // as they are in the file, line breaks included
};

// Whether the text is, or could become by going on, the start of what caption_header() and caption_lines()
// write.
bool starts_captions(const std::string& text, CaptionFormat format);

class CaptionReader {
 public:
  // A picture has at most `best` captions: with CSV, the last picture counts as torn if it has fewer.
  // Throws ArgumentError for another CSV header than caption_header().
  CaptionReader(std::istream& stream, CaptionFormat format, int64_t best);

  // What is before the first picture; empty where it is torn.
  const std::string& header() const { return header_; }

  // The next picture; nothing at the end, or where the last one is torn. Throws ArgumentError for a line of
  // something else.
  std::optional<ReadCaption> next();

 private:
  std::optional<ReadCaption> next_line();
  std::optional<ReadCaption> next_records();

  std::istream& stream_;
  CaptionFormat format_;
  int64_t best_;
  std::string header_;
  int64_t pictures_ = 0;  // read so far
  CsvReader csv_;
  std::optional<std::vector<std::string>> record_;  // the first one of the next picture
};

}  // namespace gaze::apps
