#include "apps/gaze/search_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "modules/core/check.h"

namespace gaze::apps {
namespace {

using models::LengthNorm;
using models::Stopping;
using Phrases = std::vector<std::vector<int64_t>>;

const std::map<std::string, LengthNorm> kNorms = {{"wu", LengthNorm::wu}, {"average", LengthNorm::average}};
const std::map<std::string, Stopping> kStoppings = {
    {"bound", Stopping::bound}, {"full", Stopping::full}, {"shrink", Stopping::shrink}};

// Every flag but --length-penalty and --length-norm, which a given text's score has too.
constexpr const char* kOfSearch[] = {"--beam",
                                     "--best",
                                     "--stopping",
                                     "--groups",
                                     "--diversity",
                                     "--sample",
                                     "--top-k",
                                     "--top-p",
                                     "--temperature",
                                     "--no-repeat-ngram",
                                     "--min-words",
                                     "--max-words",
                                     "--repetition-penalty",
                                     "--ban",
                                     "--force",
                                     "--prefix"};

template <typename Value>
CLI::Option* add_choice(CLI::App& command, const std::string& flag, Value& value,
                        const std::map<std::string, Value>& names, const std::string& text) {
  return command.add_option(flag, value, text)
      ->transform(CLI::CheckedTransformer(names, CLI::ignore_case).description(""));
}

template <typename Value>
std::string name_of(const std::map<std::string, Value>& names, Value value) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return "";
}

void add_beam_options(CLI::App& command, SearchFlags& flags) {
  models::SearchOptions& search = flags.search;
  command.add_option("--beam", search.beam, "captions the search keeps at each word; 1 is greedy")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command
      .add_option("--best", flags.best,
                  "captions to give a picture, at most --beam [1]; with --sample all that differ")
      ->check(CLI::Range(1, 1000));
  command
      .add_option("--length-penalty", flags.length_penalty,
                  fmt::format("captions are ranked by log-probability / ((5 + length) / 6) ^ this [{}]",
                              search.length_penalty))
      ->check(CLI::Range(-10.0, 10.0));
  add_choice(command, "--length-norm", search.length_norm, kNorms,
             "wu: that (default); average: by log-probability / length");
  add_choice(
      command, "--stopping", search.stopping, kStoppings,
      "bound: when nothing better can follow (default); full: when --beam captions have ended; shrink: "
      "the same, and each that ended leaves the beam smaller");
  CLI::Option* groups =
      command
          .add_option("--groups", search.groups,
                      "groups that share the beam equally and avoid each other's words (diverse beam search)")
          ->check(CLI::Range(1, 100))
          ->capture_default_str();
  command.add_option("--diversity", search.diversity, "how much the groups avoid them")
      ->check(CLI::Range(0.0, 1000.0))
      ->needs(groups)
      ->capture_default_str();
}

void add_sampling_options(CLI::App& command, models::Sampling& sampling) {
  CLI::Option* sample = command.add_option("--sample", sampling.samples,
                                           "draw this many captions by chance (see --seed), no search");
  sample->check(CLI::Range(1, 1000));
  for (const char* other : {"--beam", "--groups", "--diversity", "--stopping"}) {
    sample->excludes(command.get_option(other));
  }
  command.add_option("--top-k", sampling.top_k, "each word one of the k most probable; 0: any")
      ->check(CLI::Range(0, 1000000))
      ->needs(sample)
      ->capture_default_str();
  command
      .add_option("--top-p", sampling.top_p,
                  "each word one of the fewest that together have this probability (nucleus)")
      ->check(CLI::Range(1e-6, 1.0))
      ->needs(sample)
      ->capture_default_str();
  command
      .add_option("--temperature", sampling.temperature,
                  "below 1 probable words are drawn more often, above less")
      ->check(CLI::Range(0.01, 100.0))
      ->needs(sample)
      ->capture_default_str();
}

void add_constraint_options(CLI::App& command, SearchFlags& flags) {
  models::Constraints& constraints = flags.search.constraints;
  command
      .add_option("--no-repeat-ngram", constraints.no_repeat_ngram,
                  "no run of this many words twice in a caption; 0: as they come")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command
      .add_option("--repetition-penalty", constraints.repetition_penalty,
                  "log-probabilities of words that were said count this many times")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  command
      .add_option("--min-words", constraints.min_words,
                  "shortest caption (pieces count each where the model's words have pieces)")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  command
      .add_option("--max-words", flags.search.max_words,
                  "longest caption, counted as --min-words; it ends in ... where it was cut")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command.add_option("--ban", flags.ban, "a word or \"a phrase\" no caption has; may be given again")
      ->allow_extra_args(false);
  command.add_option("--force", flags.force, "a word or \"a phrase\" every caption has; may be given again")
      ->allow_extra_args(false);
  command.add_option("--prefix", flags.prefix, "the words every caption starts with");
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// The first of the words that the tokenizer does not know, else all of them.
std::string unknown_word(const std::string& words, const models::Tokenizer& tokenizer) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const std::vector<int64_t> ids = tokenizer.encode(word);
    if (std::find(ids.begin(), ids.end(), tokenizer.specials().unknown) != ids.end()) return word;
  }
  return words;
}

bool is_known(const std::vector<int64_t>& tokens, const models::Tokenizer& tokenizer) {
  return std::find(tokens.begin(), tokens.end(), tokenizer.specials().unknown) == tokens.end();
}

// The ways to say words, those of known tokens; none where the captioner cannot say them.
Phrases ways_to_say(const std::string& words, const std::string& flag, const models::Tokenizer& tokenizer) {
  Phrases ways;
  for (std::vector<int64_t>& tokens : tokenizer.phrases(words)) {
    if (tokens.empty()) throw UsageError(fmt::format("{}: expected a word or more", flag));
    if (is_known(tokens, tokenizer)) ways.push_back(std::move(tokens));
  }
  return ways;
}

bool holds(const std::vector<int64_t>& tokens, const std::vector<int64_t>& phrase) {
  return std::search(tokens.begin(), tokens.end(), phrase.begin(), phrase.end()) != tokens.end();
}

// Whether each way to say the one says the other, too.
bool always_holds(const Phrases& ways, const Phrases& others) {
  return std::all_of(ways.begin(), ways.end(), [&](const std::vector<int64_t>& way) {
    return std::any_of(others.begin(), others.end(), [&](const auto& other) { return holds(way, other); });
  });
}

[[noreturn]] void fail_unknown_word(const char* flag, const std::string& words,
                                    const models::Tokenizer& tokenizer) {
  throw UsageError(
      fmt::format("{} \"{}\": the model does not know \"{}\"", flag, words, unknown_word(words, tokenizer)));
}

void resolve_words(const SearchFlags& flags, const models::Tokenizer& tokenizer,
                   models::Constraints& constraints) {
  std::map<std::string, Phrases> bans;
  for (const std::string& words : flags.ban) {
    Phrases ways = ways_to_say(words, "--ban", tokenizer);
    if (ways.empty()) {
      warn(fmt::format("--ban \"{}\": the model never says \"{}\"", words, unknown_word(words, tokenizer)));
    }
    constraints.banned.insert(constraints.banned.end(), ways.begin(), ways.end());
    bans[words] = std::move(ways);
  }
  for (const std::string& words : flags.force) {
    Phrases ways = ways_to_say(words, "--force", tokenizer);
    if (ways.empty()) fail_unknown_word("--force", words, tokenizer);
    for (const auto& [banned, others] : bans) {
      if (!always_holds(ways, others)) continue;
      throw UsageError(fmt::format("--force \"{}\" and --ban \"{}\" exclude each other", words, banned));
    }
    constraints.forced.push_back(std::move(ways));
  }
  if (flags.prefix.empty()) return;
  constraints.prefix = tokenizer.encode(flags.prefix);
  if (!is_known(constraints.prefix, tokenizer)) fail_unknown_word("--prefix", flags.prefix, tokenizer);
  for (const auto& [banned, others] : bans) {
    if (!always_holds({constraints.prefix}, others)) continue;
    throw UsageError(
        fmt::format("--prefix \"{}\" and --ban \"{}\" exclude each other", flags.prefix, banned));
  }
}

// A given text can hold any word, but not any number of them.
void check_text(const std::string& text, models::Captioner& captioner) {
  const models::Tokenizer& tokenizer = captioner.tokenizer();
  const std::vector<int64_t> tokens = tokenizer.encode(text);
  const int64_t most = captioner.decoder().max_tokens() - 1;
  if (static_cast<int64_t>(tokens.size()) > most) {
    throw UsageError(fmt::format("--text: expected at most the {} tokens that the model can say, got {}",
                                 most, tokens.size()));
  }
  if (!is_known(tokens, tokenizer)) {
    warn(fmt::format("--text: the model does not know \"{}\"; it is scored as an unknown word",
                     unknown_word(text, tokenizer)));
  }
}

}  // namespace

void add_search_options(CLI::App& command, SearchFlags& flags) {
  add_beam_options(command, flags);
  add_sampling_options(command, flags.search.sampling);
  add_constraint_options(command, flags);
}

void add_text_option(CLI::App& command, SearchFlags& flags) {
  CLI::Option* text = command.add_option(
      "--text", flags.text, "score this caption instead: its words' probabilities and where they look");
  for (const char* other : kOfSearch) text->excludes(command.get_option(other));
}

void check(const SearchFlags& flags) {
  const models::SearchOptions& search = flags.search;
  const int64_t samples = search.sampling.samples, kept = samples > 0 ? samples : search.beam;
  if (flags.best && *flags.best > kept) {
    throw UsageError(fmt::format("--best {}: expected 1..{}, the captions that {} {} keeps", *flags.best,
                                 kept, samples > 0 ? "--sample" : "--beam", kept));
  }
  if (search.beam % search.groups != 0) {
    throw UsageError(
        fmt::format("--groups {}: expected groups that share --beam {} equally", search.groups, search.beam));
  }
  if (search.constraints.min_words > search.max_words) {
    throw UsageError(fmt::format("--min-words {}: expected at most --max-words {}",
                                 search.constraints.min_words, search.max_words));
  }
  if (search.length_norm == LengthNorm::average && flags.length_penalty) {
    throw UsageError("--length-norm average has no --length-penalty");
  }
  if (flags.force.size() > models::Constraints::kMaxForced) {
    throw UsageError(fmt::format("--force: expected at most {} words or phrases, got {}",
                                 models::Constraints::kMaxForced, flags.force.size()));
  }
  for (const std::string& words : flags.force) {
    const auto same = [&](const std::string& other) { return in_lower_case(other) == in_lower_case(words); };
    if (std::any_of(flags.ban.begin(), flags.ban.end(), same)) {
      throw UsageError(fmt::format("--force \"{}\" and --ban \"{}\" exclude each other", words, words));
    }
  }
}

models::SearchOptions resolve(const SearchFlags& flags, models::Captioner& captioner, uint64_t seed) {
  check(flags);
  models::SearchOptions search = flags.search;
  search.specials = captioner.tokenizer().specials();
  search.best = flags.best.value_or(std::max<int64_t>(1, search.sampling.samples));
  search.length_penalty = flags.length_penalty.value_or(search.length_penalty);
  search.sampling.seed = seed;
  if (flags.text) check_text(*flags.text, captioner);
  resolve_words(flags, captioner.tokenizer(), search.constraints);
  if (!search.constraints.banned.empty() || !search.constraints.forced.empty()) {
    search.constraints.continuations = models::continuations(captioner.tokenizer());
  }
  try {
    models::check_search(search);
    models::check_constraints(search.constraints, search.specials,
                              std::min(search.max_words, captioner.decoder().max_tokens() - 1),
                              captioner.tokenizer().size());
  } catch (const ArgumentError& error) {
    throw UsageError(error.what());
  }
  return search;
}

nlohmann::json to_json(const SearchFlags& flags) {
  const models::SearchOptions& search = flags.search;
  const models::Constraints& constraints = search.constraints;
  nlohmann::json json = {{"max_words", search.max_words},
                         {"length_norm", name_of(kNorms, search.length_norm)},
                         {"length_penalty", flags.length_penalty.value_or(search.length_penalty)},
                         {"min_words", constraints.min_words},
                         {"no_repeat_ngram", constraints.no_repeat_ngram},
                         {"repetition_penalty", constraints.repetition_penalty},
                         {"ban", flags.ban},
                         {"force", flags.force},
                         {"prefix", flags.prefix}};
  if (flags.text) json["text"] = *flags.text;
  if (search.sampling.samples > 0) {
    json["sample"] = search.sampling.samples;
    json["top_k"] = search.sampling.top_k;
    json["top_p"] = search.sampling.top_p;
    json["temperature"] = search.sampling.temperature;
  } else {
    json["beam"] = search.beam;
    json["stopping"] = name_of(kStoppings, search.stopping);
    json["groups"] = search.groups;
    json["diversity"] = search.diversity;
  }
  return json;
}

}  // namespace gaze::apps
