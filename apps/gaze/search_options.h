// How captions are searched, on the command line.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/gaze/command.h"
#include "models/captioner/captioner.h"

namespace gaze::apps {

struct SearchFlags {
  models::SearchOptions search;  // what flags say in numbers; without the tokens that words become
  std::optional<int64_t> best;
  std::optional<double> length_penalty;
  std::vector<std::string> ban, force;
  std::string prefix;
  std::optional<std::string> text;  // is scored instead of a search
};

// Adds --beam, --best, --length-penalty, --length-norm, --stopping, --groups, --diversity, --sample, --top-k,
// --top-p, --temperature, --no-repeat-ngram, --repetition-penalty, --min-words, --max-words, --ban, --force
// and --prefix to a subcommand.
void add_search_options(CLI::App& command, SearchFlags& flags);
// Adds --text, after add_search_options().
void add_text_option(CLI::App& command, SearchFlags& flags);

// Throws UsageError for flags that exclude each other, as far as that can be told without a model.
void check(const SearchFlags& flags);

// The search that the flags ask of a captioner, `seed` that of its samples; words are tokens now. Throws
// UsageError for words the captioner does not know (of those in --ban and --text it only warns), for those
// that no caption can both have and not have, and for a text that is too long.
models::SearchOptions resolve(const SearchFlags& flags, models::Captioner& captioner, uint64_t seed);

// What was asked for, for a manifest.
nlohmann::json to_json(const SearchFlags& flags);

}  // namespace gaze::apps
