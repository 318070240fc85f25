// gaze convert of a captioner that others have published: one model file of its weights and its words.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/captioner/published_captioner.h"

namespace gaze::apps {

// Where the words of a captioner are: its word map, or its vocab.txt. One of them.
struct WordFiles {
  std::filesystem::path word_map, vocab;
  bool given() const { return !word_map.empty() || !vocab.empty(); }
};

// Writes the model file `out`. Throws UsageError where the words are missing or of another kind, FileError
// for words of another number, and for weights that do not fit. Returns what was done, for --json.
nlohmann::json convert_captioner(const std::filesystem::path& in, const std::filesystem::path& out,
                                 const models::PublishedCaptioner& captioner, const WordFiles& words);

}  // namespace gaze::apps
