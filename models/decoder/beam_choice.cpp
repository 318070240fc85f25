#include "models/decoder/beam_choice.h"

#include <algorithm>
#include <map>

namespace gaze::models {
namespace {

// A candidate's turn: in which round those with equally far to go are dealt a place.
struct Turn {
  int64_t round;
  int32_t distance;
  const Choice* choice;
};

// The choices that get a place, in the order of their turns.
std::vector<Choice> deal(std::vector<Turn> turns, int64_t places) {
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
    return a.round != b.round ? a.round < b.round : a.distance < b.distance;
  });
  if (static_cast<int64_t>(turns.size()) > places) turns.resize(static_cast<size_t>(places));
  std::vector<Choice> choices;
  choices.reserve(turns.size());
  for (const Turn& turn : turns) choices.push_back(*turn.choice);
  return choices;
}

void sort_by_total(std::vector<Choice>& choices) {
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.total > b.total; });
}

}  // namespace

void sort_candidates(std::vector<Candidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.key != b.key) return a.key > b.key;
    const Choice &x = a.choice, &y = b.choice;
    return x.parent != y.parent ? x.parent < y.parent : x.token < y.token;
  });
}

std::optional<Choice> first_of_row(const std::vector<Candidate>& candidates, int64_t row) {
  for (const Candidate& candidate : candidates) {
    if (candidate.choice.parent == row) return candidate.choice;
  }
  return std::nullopt;
}

Kept keep_best(const std::vector<Candidate>& candidates, int64_t places, int64_t end,
               const std::optional<Choice>& greedy) {
  Kept kept;
  std::map<int32_t, int64_t> ranks, rounds;  // so far, by distance
  std::vector<Turn> turns;
  for (const Candidate& candidate : candidates) {
    const int64_t rank = ranks[candidate.distance]++;
    if (candidate.choice.token != end) {
      turns.push_back({rounds[candidate.distance]++, candidate.distance, &candidate.choice});
    } else if (rank < places || (greedy && candidate.choice == *greedy)) {
      kept.ended.push_back(candidate.choice);
    }
  }
  kept.going = deal(std::move(turns), places);
  sort_by_total(kept.going);
  const bool has_place = !greedy || greedy->token == end ||
                         std::find(kept.going.begin(), kept.going.end(), *greedy) != kept.going.end();
  if (!has_place) {
    kept.going.back() = *greedy;
    sort_by_total(kept.going);
  }
  return kept;
}

Kept keep_best_of_both(const std::vector<Candidate>& candidates, int64_t places, int64_t end) {
  Kept kept;
  std::map<int32_t, int64_t> rounds;
  std::vector<Turn> turns;
  turns.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    turns.push_back({rounds[candidate.distance]++, candidate.distance, &candidate.choice});
  }
  for (const Choice& choice : deal(std::move(turns), places)) {
    (choice.token == end ? kept.ended : kept.going).push_back(choice);
  }
  sort_by_total(kept.going);
  return kept;
}

}  // namespace gaze::models
