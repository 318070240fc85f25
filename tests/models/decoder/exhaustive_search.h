// All captions of a RandomModel that obey constraints, found by trying each: what searches are judged by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "models/decoder/search.h"
#include "tests/support/random_model.h"

namespace gaze::test {

using Tokens = std::vector<int64_t>;

struct ScoredCaption {
  Tokens tokens;
  double score = 0;
  bool finished = false;
};

class ExhaustiveSearch {
 public:
  static constexpr int64_t kEnd = 2, kFirstWord = 4;

  ExhaustiveSearch(const RandomModel& model, uint64_t input, const models::SearchOptions& options)
      : model_(model),
        input_(input),
        options_(options),
        rules_(options.constraints),
        longest_(std::min(options.max_words, model.max_tokens - 1)) {}

  int64_t longest() const { return longest_; }

  bool captions_end() const {
    return std::find(rules_.banned.begin(), rules_.banned.end(), Tokens{kEnd}) == rules_.banned.end();
  }

  double score(double total, size_t length) const {
    const auto L = static_cast<double>(length);
    return options_.length_norm == models::LengthNorm::average
               ? total / L
               : total / std::pow((5 + L) / 6, options_.length_penalty);
  }

  // What the search ranks a token after these words by.
  double ranked(const Tokens& words, int64_t token) const {
    const double own = model_.log_probabilities(input_, words)[static_cast<size_t>(token)];
    const bool is_said = std::count(words.begin(), words.end(), token) > 0;
    const bool in_prefix = words.size() < rules_.prefix.size();
    return is_said && !in_prefix
               ? static_cast<double>(static_cast<float>(own) * static_cast<float>(rules_.repetition_penalty))
               : own;
  }

  // Whether words without an end token obey everything but the n-gram ban.
  bool obeys(const Tokens& words) const {
    const auto length = static_cast<int64_t>(words.size());
    if (length < rules_.min_words || length > longest_ || (!captions_end() && length < longest_))
      return false;
    for (size_t i = 0; i < rules_.prefix.size(); ++i) {
      if (i >= words.size() || words[i] != rules_.prefix[i]) return false;
    }
    for (const Tokens& phrase : rules_.banned) {
      if (holds(words, phrase, /*whole=*/false)) return false;
    }
    for (const std::vector<Tokens>& phrases : rules_.forced) {
      if (std::none_of(phrases.begin(), phrases.end(),
                       [&](const Tokens& phrase) { return holds(words, phrase, /*whole=*/true); })) {
        return false;
      }
    }
    return true;
  }

  // Whether these words, or some that begin with them, obey.
  bool completes(const Tokens& words) {
    const auto known = completes_.find(words);
    if (known != completes_.end()) return known->second;
    bool does = obeys(words);
    for (int64_t word = kFirstWord; word < model_.vocabulary() && !does; ++word) {
      if (static_cast<int64_t>(words.size()) < longest_) does = completes(with(words, word));
    }
    return completes_[words] = does;
  }

  // The tokens that may follow words that are fewer than the longest.
  Tokens allowed(const Tokens& words) {
    Tokens tokens;
    if (captions_end() && obeys(words)) tokens.push_back(kEnd);
    for (int64_t word = kFirstWord; word < model_.vocabulary(); ++word) {
      if (completes(with(words, word))) tokens.push_back(word);
    }
    if (words.size() < rules_.prefix.size()) return tokens;
    Tokens fresh;
    for (const int64_t token : tokens) {
      if (token == kEnd || !repeats(with(words, token))) fresh.push_back(token);
    }
    return fresh.empty() ? tokens : fresh;
  }

  // All finished captions, best score first.
  std::vector<ScoredCaption> finished() {
    std::vector<ScoredCaption> captions;
    collect({}, 0, captions);
    std::sort(captions.begin(), captions.end(),
              [](const ScoredCaption& a, const ScoredCaption& b) { return a.score > b.score; });
    return captions;
  }

  static Tokens with(Tokens words, int64_t token) {
    words.push_back(token);
    return words;
  }

 private:
  bool continues(int64_t token) const {
    return !rules_.continuations.empty() && rules_.continuations[static_cast<size_t>(token)];
  }

  bool holds(const Tokens& words, const Tokens& phrase, bool whole) const {
    for (size_t first = 0; first + phrase.size() <= words.size(); ++first) {
      if (first > 0 && continues(phrase[0])) break;
      bool same = true;
      for (size_t i = 0; i < phrase.size(); ++i) same = same && words[first + i] == phrase[i];
      const size_t behind = first + phrase.size();
      if (same && !(whole && behind < words.size() && continues(words[behind]))) return true;
    }
    return false;
  }

  // Whether the last n tokens stand earlier, too.
  bool repeats(const Tokens& words) const {
    const auto n = static_cast<size_t>(rules_.no_repeat_ngram);
    if (n == 0 || words.size() < n) return false;
    const Tokens last(words.end() - rules_.no_repeat_ngram, words.end());
    return std::search(words.begin(), words.end() - 1, last.begin(), last.end()) != words.end() - 1;
  }

  void collect(const Tokens& words, double total, std::vector<ScoredCaption>& captions) {
    const bool is_longest = static_cast<int64_t>(words.size()) == longest_;
    if (is_longest && !captions_end()) return;
    for (const int64_t token : is_longest ? Tokens{kEnd} : allowed(words)) {
      const double sum = total + ranked(words, token);
      if (token == kEnd) {
        captions.push_back({with(words, kEnd), score(sum, words.size() + 1), true});
      } else {
        collect(with(words, token), sum, captions);
      }
    }
  }

  RandomModel model_;
  uint64_t input_;
  models::SearchOptions options_;
  models::Constraints rules_;
  int64_t longest_;
  std::map<Tokens, bool> completes_;
};

}  // namespace gaze::test
