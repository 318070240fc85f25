#include "models/metrics/chrf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "modules/core/error.h"
#include "modules/core/utf8.h"

namespace gaze::models {
namespace {

constexpr size_t kLongest = 6;
constexpr double kBetaSquared = 4;

// A text without its white space, and its n-grams: views into it.
struct NGrams {
  using Counts = std::unordered_map<std::string_view, int64_t>;

  explicit NGrams(const std::string& line) {
    std::vector<size_t> begins;
    for (const std::string_view character : characters(line)) {
      if (is_white_space(code_point(character))) continue;
      begins.push_back(text.size());
      text += character;
    }
    begins.push_back(text.size());
    const std::string_view all = text;
    for (size_t n = 1; n <= kLongest; ++n) {
      for (size_t i = 0; i + n < begins.size(); ++i)
        counts[n - 1][all.substr(begins[i], begins[i + n] - begins[i])] += 1;
    }
  }
  NGrams(const NGrams&) = delete;
  NGrams& operator=(const NGrams&) = delete;

  std::string text;
  std::array<Counts, kLongest> counts;  // by n - 1
};

struct Matches {
  std::array<int64_t, kLongest> translation{}, reference{}, matching{};  // by n - 1
};

int64_t sum_of(const NGrams::Counts& counts) {
  int64_t sum = 0;
  for (const auto& entry : counts) sum += entry.second;
  return sum;
}

Matches matches_of(const NGrams& translation, const NGrams& reference) {
  Matches matches;
  for (size_t n = 0; n < kLongest; ++n) {
    const NGrams::Counts& expected = reference.counts[n];
    // A reference that is too short for n does not count against the translation.
    matches.translation[n] = expected.empty() ? 0 : sum_of(translation.counts[n]);
    matches.reference[n] = sum_of(expected);
    for (const auto& [ngram, count] : translation.counts[n]) {
      const auto found = expected.find(ngram);
      if (found != expected.end()) matches.matching[n] += std::min(count, found->second);
    }
  }
  return matches;
}

double score_of(const Matches& matches) {
  double precision = 0, recall = 0, orders = 0;
  for (size_t n = 0; n < kLongest; ++n) {
    if (matches.translation[n] == 0 || matches.reference[n] == 0) continue;
    const auto matching = static_cast<double>(matches.matching[n]);
    precision += matching / static_cast<double>(matches.translation[n]);
    recall += matching / static_cast<double>(matches.reference[n]);
    orders += 1;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  return 100 * (1 + kBetaSquared) * precision * recall / (kBetaSquared * precision + recall);
}

}  // namespace

ChrF chrf2(const std::vector<TranslatedLine>& lines) {
  ChrF result;
  Matches sums;
  for (const TranslatedLine& line : lines) {
    const NGrams translation(line.translation);
    double best = -1;
    Matches chosen;
    for (const std::string& reference : line.references) {
      if (reference.empty()) continue;
      const Matches matches = matches_of(translation, NGrams(reference));
      const double score = score_of(matches);
      if (score > best) {
        best = score;
        chosen = matches;
      }
    }
    if (best < 0) {
      throw ArgumentError(fmt::format("[chrf2] expected a reference of each line; got none of line {}",
                                      result.scores.size()));
    }
    result.scores.push_back(best);
    for (size_t n = 0; n < kLongest; ++n) {
      sums.translation[n] += chosen.translation[n];
      sums.reference[n] += chosen.reference[n];
      sums.matching[n] += chosen.matching[n];
    }
  }
  result.corpus = score_of(sums);
  return result;
}

}  // namespace gaze::models
