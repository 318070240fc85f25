#include "models/metrics/cider_d.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "modules/core/error.h"

namespace gaze::models {
namespace {

constexpr size_t kLongest = 4;
constexpr double kSigma = 6;

using Counts = std::map<std::vector<std::string>, double>;

Counts count_ngrams(const std::string& caption) {
  std::istringstream stream(caption);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  Counts counts;
  for (size_t n = 1; n <= kLongest; ++n) {
    for (size_t i = 0; i + n <= words.size(); ++i) {
      counts[{words.begin() + static_cast<int64_t>(i), words.begin() + static_cast<int64_t>(i + n)}] += 1;
    }
  }
  return counts;
}

struct Weighted {
  std::array<Counts, kLongest> weights;  // by n - 1
  std::array<double, kLongest> norm{};
  double bigrams = 0;
};

Weighted weigh(const Counts& counts, const Counts& document_frequency, double pictures) {
  Weighted result;
  for (const auto& [ngram, count] : counts) {
    const auto found = document_frequency.find(ngram);
    const double df = found == document_frequency.end() ? 1 : std::max(1.0, found->second);
    const size_t n = ngram.size() - 1;
    const double weight = count * (std::log(pictures) - std::log(df));
    result.weights[n][ngram] = weight;
    result.norm[n] += weight * weight;
    if (n == 1) result.bigrams += count;
  }
  for (double& norm : result.norm) norm = std::sqrt(norm);
  return result;
}

// The mean over n.
double similarity(const Weighted& caption, const Weighted& reference) {
  const double difference = caption.bigrams - reference.bigrams;
  const double penalty = std::exp(-difference * difference / (2 * kSigma * kSigma));
  double sum = 0;
  for (size_t n = 0; n < kLongest; ++n) {
    double product = 0;
    for (const auto& [ngram, weight] : caption.weights[n]) {
      const auto found = reference.weights[n].find(ngram);
      if (found != reference.weights[n].end()) product += std::min(weight, found->second) * found->second;
    }
    const double norms = caption.norm[n] * reference.norm[n];
    sum += (norms != 0 ? product / norms : product) * penalty;
  }
  return sum / kLongest;
}

}  // namespace

CiderD cider_d(const std::vector<CaptionPair>& pairs) {
  std::vector<std::vector<Counts>> references;
  Counts document_frequency;
  for (const CaptionPair& pair : pairs) {
    if (pair.references.empty()) {
      throw ArgumentError(fmt::format("[cider_d] expected references of each picture; got none of picture {}",
                                      references.size()));
    }
    std::vector<Counts> counted;
    std::set<std::vector<std::string>> seen;
    for (const std::string& reference : pair.references) {
      counted.push_back(count_ngrams(reference));
      for (const auto& entry : counted.back()) seen.insert(entry.first);
    }
    for (const auto& ngram : seen) document_frequency[ngram] += 1;
    references.push_back(std::move(counted));
  }

  CiderD result;
  const double pictures = static_cast<double>(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Weighted caption = weigh(count_ngrams(pairs[i].caption), document_frequency, pictures);
    double sum = 0;
    for (const Counts& reference : references[i])
      sum += similarity(caption, weigh(reference, document_frequency, pictures));
    result.scores.push_back(10 * sum / static_cast<double>(references[i].size()));
    result.mean += result.scores.back() / pictures;
  }
  return result;
}

}  // namespace gaze::models
