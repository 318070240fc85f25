// Beam search once more, as search.h reads: what searches are judged by where the beam is narrow.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/decoder/search.h"
#include "tests/models/decoder/exhaustive_search.h"
#include "tests/support/random_model.h"

namespace gaze::test {

// One input, every candidate looked at, never stopped before it must.
class PlainBeamSearch {
 public:
  PlainBeamSearch(const RandomModel& model, const models::SearchOptions& options)
      : model_(model), options_(options), all_(model, 0, options) {}

  std::vector<ScoredCaption> run() {
    const auto width = static_cast<size_t>(options_.beam / options_.groups);
    std::vector<std::vector<Row>> groups(static_cast<size_t>(options_.groups), {Row{}});
    std::vector<std::vector<ScoredCaption>> ended(groups.size());
    std::vector<size_t> places(groups.size(), width);
    std::optional<Tokens> greedy = Tokens{};
    bool is_cut = false;
    for (int64_t length = 0; length <= all_.longest(); ++length) {
      is_cut = length == all_.longest();
      if (is_cut && !all_.captions_end()) break;
      std::map<int64_t, int64_t> chosen;
      std::vector<std::vector<Row>> next(groups.size());
      for (size_t g = 0; g < groups.size(); ++g) {
        const std::vector<Row> candidates = continuations(groups[g], chosen);
        const bool shrinks = options_.stopping == models::Stopping::shrink;
        const bool guards = options_.stopping == models::Stopping::bound && g == 0 && greedy;
        Row favourite;
        if (guards) favourite = best_after(*greedy, candidates);
        const size_t limit = shrinks ? places[g] : width;
        size_t found = 0;
        for (size_t rank = 0; rank < candidates.size(); ++rank) {
          const Row& row = candidates[rank];
          const bool is_favourite = guards && row.words == favourite.words;
          if (row.words.back() == 2) {
            if (rank >= limit && !is_favourite) continue;
            file(row, ended, g, width);
            ++found;
          } else if (shrinks ? rank < limit : next[g].size() < limit) {
            next[g].push_back(row);
          }
        }
        places[g] -= std::min(places[g], found);
        if (options_.stopping == models::Stopping::full && places[g] == 0) next[g].clear();
        if (guards) follow(favourite, next[g], greedy);
        for (const Row& row : next[g]) ++chosen[row.words.back()];
      }
      const bool any = std::any_of(ended.begin(), ended.end(), [](const auto& own) { return !own.empty(); });
      const bool none_left =
          std::all_of(next.begin(), next.end(), [](const auto& rows) { return rows.empty(); });
      if (is_cut || none_left || (options_.beam == 1 && any)) break;
      groups = next;
    }
    // A group has no more captions than places.
    std::vector<ScoredCaption> all_ended;
    for (size_t g = 0; g < groups.size(); ++g) places[g] = width - ended[g].size();
    for (const auto& own : ended) all_ended.insert(all_ended.end(), own.begin(), own.end());
    if (!is_cut && !all_ended.empty()) groups.clear();
    return result(all_ended, groups, places);
  }

 private:
  struct Row {
    Tokens words;
    double total = 0, key = 0;
  };

  // Keeps a group's `width` best that no group has yet.
  void file(const Row& row, std::vector<std::vector<ScoredCaption>>& ended, size_t g, size_t width) const {
    for (const std::vector<ScoredCaption>& own : ended) {
      for (const ScoredCaption& other : own) {
        if (other.tokens == row.words) return;
      }
    }
    ended[g].push_back({row.words, all_.score(row.total, row.words.size()), true});
    std::stable_sort(ended[g].begin(), ended[g].end(),
                     [](const ScoredCaption& a, const ScoredCaption& b) { return a.score > b.score; });
    if (ended[g].size() > width) ended[g].pop_back();
  }

  std::vector<Row> continuations(const std::vector<Row>& rows, const std::map<int64_t, int64_t>& chosen) {
    std::vector<Row> candidates;
    for (const Row& row : rows) {
      Tokens tokens = {2};
      for (int64_t word = 4; word < model_.vocabulary(); ++word) tokens.push_back(word);
      if (static_cast<int64_t>(row.words.size()) < all_.longest()) tokens = all_.allowed(row.words);
      for (const int64_t token : tokens) {
        const double total = row.total + all_.ranked(row.words, token);
        const auto times = chosen.find(token);
        const double loss =
            times == chosen.end() ? 0 : options_.diversity * static_cast<double>(times->second);
        candidates.push_back({ExhaustiveSearch::with(row.words, token), total, total - loss});
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Row& a, const Row& b) { return a.key > b.key; });
    return candidates;
  }

  static Row best_after(const Tokens& words, const std::vector<Row>& candidates) {
    for (const Row& row : candidates) {
      if (Tokens(row.words.begin(), row.words.end() - 1) == words) return row;
    }
    return {};
  }

  static void follow(const Row& favourite, std::vector<Row>& kept, std::optional<Tokens>& greedy) {
    greedy = std::nullopt;
    if (favourite.words.empty() || favourite.words.back() == 2) return;
    greedy = favourite.words;
    for (const Row& row : kept) {
      if (row.words == favourite.words) return;
    }
    kept.back() = favourite;
  }

  std::vector<ScoredCaption> result(std::vector<ScoredCaption> captions,
                                    const std::vector<std::vector<Row>>& groups,
                                    std::vector<size_t> places) const {
    const auto by_score = [](const ScoredCaption& a, const ScoredCaption& b) { return a.score > b.score; };
    const std::vector<ScoredCaption> ended = captions;
    std::vector<std::pair<ScoredCaption, size_t>> cut;  // with their groups
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const Row& row : groups[g]) {
        const Tokens finished = ExhaustiveSearch::with(row.words, 2);
        const auto same = [&](const ScoredCaption& other) { return other.tokens == finished; };
        if (std::any_of(ended.begin(), ended.end(), same)) continue;
        const double score = row.words.empty() ? 0 : all_.score(row.total, row.words.size());
        cut.push_back({{row.words, score, false}, g});
      }
    }
    std::stable_sort(captions.begin(), captions.end(), by_score);
    std::stable_sort(cut.begin(), cut.end(),
                     [&](const auto& a, const auto& b) { return by_score(a.first, b.first); });
    std::vector<ScoredCaption> distinct = captions;
    for (const auto& [caption, g] : cut) {
      const Tokens& tokens = caption.tokens;
      const auto same = [&](const ScoredCaption& other) { return other.tokens == tokens; };
      if (places[g] == 0 || std::any_of(distinct.begin(), distinct.end(), same)) continue;
      --places[g];
      distinct.push_back(caption);
    }
    if (static_cast<int64_t>(distinct.size()) > options_.best) {
      distinct.resize(static_cast<size_t>(options_.best));
    }
    return distinct;
  }

  RandomModel model_;
  models::SearchOptions options_;
  ExhaustiveSearch all_;
};

}  // namespace gaze::test
