#include "apps/gaze/caption_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "modules/core/csv.h"
#include "modules/core/utf8.h"

namespace gaze::apps {
namespace {

using models::Caption;
using models::CaptionWord;

std::string as_utf8(const std::string& text) {
  std::string valid;
  for (const std::string_view character : characters(text)) valid += utf8_text(code_point(character));
  return valid;
}

// 2 digits below 10 %, else whole percents.
std::string percent(double log_probability) {
  const double value = 100 * std::exp(log_probability);
  return value < 9.95 ? fmt::format("{:.2g} %", value) : fmt::format("{:.0f} %", value);
}

// "a 91 %  red 64 %  panda 80 %"
std::string words_line(const Caption& caption) {
  std::string line;
  for (const CaptionWord& word : caption.words) {
    line += fmt::format("{}{} {}", line.empty() ? "" : "  ", word.text, percent(word.log_probability));
  }
  return line;
}

std::string text_lines(const CaptionOutcome& outcome, bool words) {
  std::string lines;
  if (!outcome.result) return lines;
  for (const Caption& caption : outcome.result->captions) {
    lines +=
        fmt::format("{}: {}{}  ({})\n", outcome.image, caption.text.empty() ? "(no words)" : caption.text,
                    caption.finished ? "" : " ...", percent(caption.log_probability));
    if (words) lines += fmt::format("    {}\n", words_line(caption));
  }
  return lines;
}

std::string json_line(const CaptionOutcome& outcome) {
  const nlohmann::json line = outcome.result
                                  ? models::to_json(outcome.image, *outcome.result)
                                  : nlohmann::json{{"image", outcome.image}, {"error", outcome.error}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string csv_lines(const CaptionOutcome& outcome) {
  if (!outcome.result) return csv_record({outcome.image, "", "", "", "", "", "", "", outcome.error});
  std::string records;
  int rank = 0;
  for (const Caption& caption : outcome.result->captions) {
    std::vector<std::string> words;
    std::vector<double> log_probabilities;
    for (const CaptionWord& word : caption.words) {
      words.push_back(as_utf8(word.text));
      log_probabilities.push_back(word.log_probability);
    }
    records += csv_record({outcome.image, fmt::format("{}", ++rank), as_utf8(caption.text),
                           fmt::format("{}", caption.log_probability), fmt::format("{}", caption.score),
                           caption.finished ? "true" : "false", fmt::format("{}", fmt::join(words, " ")),
                           fmt::format("{}", fmt::join(log_probabilities, " ")), ""});
  }
  return records;
}

}  // namespace

std::string caption_header(CaptionFormat format) {
  if (format != CaptionFormat::csv) return "";
  return csv_record({"image", "rank", "caption", "log_probability", "score", "finished", "words",
                     "word_log_probabilities", "error"});
}

std::string caption_lines(const CaptionOutcome& outcome, const CaptionStyle& style) {
  switch (style.format) {
    case CaptionFormat::text:
      return text_lines(outcome, style.words);
    case CaptionFormat::jsonl:
      return json_line(outcome);
    case CaptionFormat::csv:
      return csv_lines(outcome);
  }
  return "";
}

std::string shown_path(const std::filesystem::path& path) {
  return as_utf8(path.string());
}

}  // namespace gaze::apps
