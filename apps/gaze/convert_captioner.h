// gaze convert of a captioner that others have published: one model file of its weights and its words.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/captioner/published_captioner.h"

namespace gaze::apps {

// Writes the model file `out`. Throws UsageError where the words are missing or of another kind, FileError
// for words of another number, and for weights that do not fit. Returns what was done, for --json.
nlohmann::json convert_captioner(const std::filesystem::path& in, const std::filesystem::path& out,
                                 const models::PublishedCaptioner& captioner,
                                 const std::filesystem::path& word_map);

}  // namespace gaze::apps
