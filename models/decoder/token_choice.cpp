#include "models/decoder/token_choice.h"

#include <algorithm>

namespace gaze::models {
namespace {

struct Chance {
  float log_p;
  int64_t token;
};

bool better(const Chance& a, const Chance& b) {
  return a.log_p != b.log_p ? a.log_p > b.log_p : a.token < b.token;
}

}  // namespace

std::vector<int64_t> best_tokens(const float* log_p, int64_t V, int64_t count,
                                 const SpecialTokens& specials) {
  std::vector<Chance> best;  // a heap with the worst in front
  float least = -std::numeric_limits<float>::infinity();
  constexpr int64_t kBlock = 32;
  for (int64_t first = 0; first < V; first += kBlock) {
    const int64_t last = std::min(first + kBlock, V);
    bool any = false;
    for (int64_t token = first; token < last; ++token) any |= log_p[token] > least;
    if (!any) continue;
    for (int64_t token = first; token < last; ++token) {
      if (!(log_p[token] > least && may_be_said(token, log_p[token], specials))) continue;
      best.push_back({log_p[token], token});
      std::push_heap(best.begin(), best.end(), better);
      if (static_cast<int64_t>(best.size()) > count) {
        std::pop_heap(best.begin(), best.end(), better);
        best.pop_back();
      }
      if (static_cast<int64_t>(best.size()) == count) least = best.front().log_p;
    }
  }
  std::sort_heap(best.begin(), best.end(), better);
  std::vector<int64_t> tokens;
  tokens.reserve(best.size());
  for (const Chance& chance : best) tokens.push_back(chance.token);
  return tokens;
}

}  // namespace gaze::models
