#include "models/decoder/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/decoder/token_choice.h"

namespace gaze::models {
namespace {

struct Chance {
  double value;  // a log-probability, later a weight
  int64_t token;
};

bool better(const Chance& a, const Chance& b) {
  return a.value != b.value ? a.value > b.value : a.token < b.token;
}

// Keeps the fewest best that together weigh `share` of all.
void keep_nucleus(std::vector<Chance>& chances, double share) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0, kept = 0;
  for (const Chance& chance : chances) most = std::max(most, chance.value);
  for (const Chance& chance : chances) sum += std::exp(chance.value - most);
  const auto worse = [](const Chance& a, const Chance& b) { return better(b, a); };
  std::make_heap(chances.begin(), chances.end(), worse);
  auto end = chances.end();
  while (end != chances.begin() && (end == chances.end() || kept < share * sum)) {
    std::pop_heap(chances.begin(), end--, worse);
    kept += std::exp(end->value - most);
  }
  chances.erase(chances.begin(), end);
}

}  // namespace

int64_t drawn_token(const float* log_p, int64_t V, const Sampling& sampling, const SpecialTokens& specials,
                    double share) {
  std::vector<Chance> chances;
  for (int64_t token = 0; token < V; ++token) {
    if (may_be_said(token, log_p[token], specials)) {
      chances.push_back({log_p[token] / sampling.temperature, token});
    }
  }
  if (chances.empty()) return -1;
  if (sampling.top_k > 0 && sampling.top_k < static_cast<int64_t>(chances.size())) {
    std::nth_element(chances.begin(), chances.begin() + sampling.top_k, chances.end(), better);
    chances.resize(static_cast<size_t>(sampling.top_k));
  }
  if (sampling.top_p < 1) keep_nucleus(chances, sampling.top_p);
  const auto by_token = [](const Chance& a, const Chance& b) { return a.token < b.token; };
  if (!std::is_sorted(chances.begin(), chances.end(), by_token)) {
    std::sort(chances.begin(), chances.end(), by_token);
  }
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const Chance& chance : chances) most = std::max(most, chance.value);
  for (Chance& chance : chances) sum += chance.value = std::exp(chance.value - most);
  double left = share * sum;
  for (const Chance& chance : chances) {
    left -= chance.value;
    if (left < 0) return chance.token;
  }
  return chances.back().token;
}

}  // namespace gaze::models
