// Beam search, batched over inputs, and diverse beam search: groups of a beam.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "models/decoder/beam_choice.h"
#include "models/decoder/search_parts.h"
#include "models/decoder/token_choice.h"
#include "models/decoder/token_rules.h"

namespace gaze::models {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// A hypothesis that is continued.
struct Row {
  Choice choice;
  TokenRules::State state;
};

// An end token that was chosen.
struct End {
  Choice choice;
  std::vector<int64_t> tokens;  // before it
  double score = 0;
};

// What is kept of each step, so that a hypothesis can be read back from its last token.
struct Step {
  torch::Tensor maps;           // of the rows that were asked: [R, N, S]
  std::vector<Choice> choices;  // of the rows after it
};

// An input that is still searched.
struct Input {
  size_t index = 0;
  std::vector<std::vector<End>> ends;  // of each group: best score first, as many as it has places
  std::vector<int64_t> ended;          // of each group: how many were found
  int64_t greedy = 0;                  // the row of the greedy caption; -1 once it ended
};

class BeamSearch {
 public:
  BeamSearch(StepDecoder& decoder, const SearchOptions& options)
      : decoder_(decoder),
        options_(options),
        width_(options.beam / options.groups),
        longest_(longest_caption(decoder, options)),
        results_(static_cast<size_t>(decoder.inputs())) {
    for (size_t b = 0; b < results_.size(); ++b) {
      Input input;
      input.index = b;
      input.ends.resize(static_cast<size_t>(options.groups));
      input.ended.resize(static_cast<size_t>(options.groups));
      inputs_.push_back(std::move(input));
      for (int64_t i = 0; i < options.beam; ++i) {
        // A group's rows start alike: only the first may be continued.
        rows_.push_back({{options.specials.start, 0, 0.0, i % width_ == 0 ? 0.0 : kImpossible}, {}});
      }
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    while (!inputs_.empty()) advance();
    return std::move(results_);
  }

 private:
  // One more token for every row of every input; inputs that are done leave the batch.
  void advance() {
    ask_decoder();
    std::vector<Row> rows;
    std::vector<Input> open;
    std::vector<int64_t> parents;
    for (size_t b = 0; b < inputs_.size(); ++b) {
      const auto first_row = static_cast<int64_t>(b) * options_.beam;
      std::vector<std::vector<Choice>> going = choose(inputs_[b], first_row);
      if (is_done(inputs_[b], going)) {
        conclude(inputs_[b], first_row);
        continue;
      }
      for (std::vector<Choice>& group : going) {
        group.resize(static_cast<size_t>(width_), {options_.specials.end, first_row, 0.0, kImpossible});
        for (const Choice& choice : group) {
          const TokenRules::State& before = rows_[static_cast<size_t>(choice.parent)].state;
          const bool lives = choice.total > kImpossible;
          rows.push_back({choice, lives ? rules_->after(before, choice.token) : before});
          parents.push_back(choice.parent);
          history_.back().choices.push_back(choice);
        }
      }
      open.push_back(std::move(inputs_[b]));
    }
    const auto rows_before = static_cast<int64_t>(rows_.size());
    inputs_ = std::move(open);
    rows_ = std::move(rows);
    ++step_;
    if (step_ == longest_ && !rules_->captions_end()) conclude_all();
    if (!inputs_.empty()) reorder(decoder_, parents, rows_before);
  }

  void ask_decoder() {
    std::vector<int64_t> tokens;
    for (const Row& row : rows_) tokens.push_back(row.choice.token);
    DecoderStep next = ask(decoder_, tokens);
    log_probabilities_ = next.log_probabilities;
    history_.push_back({next.map, {}});
    if (rules_) return;
    rules_.emplace(options_.constraints, options_.specials, longest_, log_probabilities_.size(1));
    for (Row& row : rows_) row.state = rules_->start();
  }

  // The continuations that go on, of each group, best first; those that end are filed with the input.
  std::vector<std::vector<Choice>> choose(Input& input, int64_t first_row) {
    std::vector<std::vector<Choice>> going;
    std::map<int64_t, int64_t> chosen;  // tokens, by earlier groups: how often
    for (int64_t g = 0; g < options_.groups; ++g) {
      const int64_t first = first_row + g * width_;
      std::vector<Candidate> candidates;
      for (int64_t row = first; row < first + width_; ++row) {
        if (rows_[static_cast<size_t>(row)].choice.total > kImpossible) propose(row, chosen, candidates);
      }
      sort_candidates(candidates);
      Kept kept = keep(input, g, first_row, candidates);
      for (const Choice& choice : kept.ended) file(input, g, choice);
      if (options_.stopping == Stopping::full && places(input, g) <= 0) kept.going.clear();
      for (const Choice& choice : kept.going) ++chosen[choice.token];
      going.push_back(std::move(kept.going));
    }
    return going;
  }

  // The continuations of a row that any way of choosing could take.
  void propose(int64_t row, const std::map<int64_t, int64_t>& chosen, std::vector<Candidate>& candidates) {
    const int64_t V = log_probabilities_.size(1);
    const Row& from = rows_[static_cast<size_t>(row)];
    const float* own = log_probabilities_.const_data_ptr<float>() + row * V;
    const float* ranked = own;
    if (rules_->any()) {
      ruled_.assign(own, own + V);
      rules_->apply(from.state, ruled_.data());
      ranked = ruled_.data();
    }
    // One of a row's continuations ends, and those that earlier groups chose can fall back.
    const int64_t count = width_ + 1 + static_cast<int64_t>(chosen.size());
    std::vector<int64_t> tokens = best_tokens(ranked, V, count, options_.specials);
    const bool banks = width_ > 1 && step_ < longest_;
    if (banks) {
      for (const int64_t token : rules_->nearer(from.state)) {
        const bool known = std::find(tokens.begin(), tokens.end(), token) != tokens.end();
        if (!known && ranked[token] > static_cast<float>(kImpossible)) tokens.push_back(token);
      }
    }
    for (const int64_t token : tokens) {
      Candidate candidate;
      candidate.choice = {token, row, static_cast<double>(own[token]),
                          from.choice.total + static_cast<double>(ranked[token])};
      candidate.key = candidate.choice.total;
      const auto times = chosen.find(token);
      if (times != chosen.end()) candidate.key -= options_.diversity * static_cast<double>(times->second);
      if (banks) candidate.distance = rules_->distance(from.state, token);
      candidates.push_back(candidate);
    }
  }

  // That a group's ended hypotheses left.
  int64_t places(const Input& input, int64_t group) const {
    return width_ - input.ended[static_cast<size_t>(group)];
  }

  // What the group goes on with, and what ends; follows the greedy caption.
  Kept keep(Input& input, int64_t group, int64_t first_row, const std::vector<Candidate>& candidates) const {
    const int64_t end = options_.specials.end;
    if (options_.stopping == Stopping::shrink) {
      return keep_best_of_both(candidates, places(input, group), end);
    }
    std::optional<Choice> greedy;
    if (options_.stopping == Stopping::bound && group == 0 && input.greedy >= 0) {
      greedy = first_of_row(candidates, first_row + input.greedy);
    }
    Kept kept = keep_best(candidates, width_, end, greedy);
    if (group == 0) {
      const auto place = greedy ? std::find(kept.going.begin(), kept.going.end(), *greedy) : kept.going.end();
      input.greedy = place == kept.going.end() ? -1 : place - kept.going.begin();
    }
    return kept;
  }

  void file(Input& input, int64_t group, const Choice& choice) const {
    ++input.ended[static_cast<size_t>(group)];
    const End end{choice, rows_[static_cast<size_t>(choice.parent)].state.tokens,
                  score(options_, choice.total, step_ + 1)};
    // Two groups can come to the same caption.
    for (const std::vector<End>& ends : input.ends) {
      const auto same = [&](const End& other) { return other.tokens == end.tokens; };
      if (std::any_of(ends.begin(), ends.end(), same)) return;
    }
    std::vector<End>& ends = input.ends[static_cast<size_t>(group)];
    const auto place =
        std::find_if(ends.begin(), ends.end(), [&](const End& other) { return other.score < end.score; });
    ends.insert(place, end);
    if (static_cast<int64_t>(ends.size()) > width_) ends.pop_back();
  }

  // The `best` finished captions so far, of all groups.
  std::vector<const End*> best_ends(const Input& input) const {
    std::vector<const End*> best;
    for (const std::vector<End>& ends : input.ends) {
      for (const End& end : ends) best.push_back(&end);
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const End* a, const End* b) { return a->score > b->score; });
    if (static_cast<int64_t>(best.size()) > options_.best) best.resize(static_cast<size_t>(options_.best));
    return best;
  }

  // No caption that continues a row with this total after step_ can score better.
  double bound(double total) const {
    return std::max(score(options_, total, step_ + 2), score(options_, total, longest_ + 1));
  }

  bool is_done(const Input& input, const std::vector<std::vector<Choice>>& going) const {
    double most = kImpossible;
    for (const std::vector<Choice>& group : going) {
      if (!group.empty()) most = std::max(most, group.front().total);
    }
    if (step_ == longest_ || !(most > kImpossible)) return true;
    if (options_.beam == 1) return input.ended[0] > 0;
    if (options_.stopping != Stopping::bound) return false;
    const std::vector<const End*> best = best_ends(input);
    return static_cast<int64_t>(best.size()) == options_.best && bound(most) <= best.back()->score;
  }

  // Prepends the tokens that lead to `row` of the rows before `step`.
  void read_back(int64_t step, int64_t row, Hypothesis& hypothesis) const {
    while (step > 0) {
      const Step& before = history_[static_cast<size_t>(--step)];
      const Choice& choice = before.choices[static_cast<size_t>(row)];
      append(before, choice, hypothesis);
      row = choice.parent;
    }
    std::reverse(hypothesis.tokens.begin(), hypothesis.tokens.end());
    std::reverse(hypothesis.log_probabilities.begin(), hypothesis.log_probabilities.end());
    std::reverse(hypothesis.maps.begin(), hypothesis.maps.end());
    for (const double log_p : hypothesis.log_probabilities) hypothesis.log_probability += log_p;
  }

  static void append(const Step& step, const Choice& choice, Hypothesis& hypothesis) {
    hypothesis.tokens.push_back(choice.token);
    hypothesis.log_probabilities.push_back(choice.log_probability);
    hypothesis.maps.push_back(step.maps[choice.parent].clone());
  }

  // Reads the input's captions back; rows that were cut, being the longest, fill up what finished ones leave
  // free.
  void conclude(const Input& input, int64_t first_row) {
    std::vector<Hypothesis>& captions = results_[input.index];
    const std::vector<const End*> best = best_ends(input);
    for (const End* end : best) {
      const auto step = static_cast<int64_t>(end->tokens.size());
      Hypothesis caption;
      caption.finished = true;
      caption.score = end->score;
      append(history_[static_cast<size_t>(step)], end->choice, caption);
      read_back(step, end->choice.parent, caption);
      captions.push_back(std::move(caption));
    }
    if (step_ == longest_ || captions.empty()) add_cut(input, first_row, best, captions);
  }

  void add_cut(const Input& input, int64_t first_row, const std::vector<const End*>& best,
               std::vector<Hypothesis>& captions) const {
    const auto total = [&](int64_t row) { return rows_[static_cast<size_t>(row)].choice.total; };
    std::vector<int64_t> cut(static_cast<size_t>(options_.beam));
    std::iota(cut.begin(), cut.end(), first_row);
    std::stable_sort(cut.begin(), cut.end(), [&](int64_t a, int64_t b) { return total(a) > total(b); });
    std::vector<int64_t> of_group;
    for (const std::vector<End>& ends : input.ends) of_group.push_back(static_cast<int64_t>(ends.size()));
    for (const int64_t row : cut) {
      if (static_cast<int64_t>(captions.size()) >= options_.best || !(total(row) > kImpossible)) return;
      const std::vector<int64_t>& tokens = rows_[static_cast<size_t>(row)].state.tokens;
      const auto has_ended = [&](const End* end) { return end->tokens == tokens; };
      const auto is_known = [&](const Hypothesis& other) { return other.tokens == tokens; };
      int64_t& group = of_group[static_cast<size_t>((row - first_row) / width_)];
      if (group == width_ || std::any_of(best.begin(), best.end(), has_ended) ||
          std::any_of(captions.begin(), captions.end(), is_known)) {
        continue;
      }
      ++group;
      Hypothesis caption;
      caption.score = score(options_, total(row), step_);
      read_back(step_, row, caption);
      captions.push_back(std::move(caption));
    }
  }

  void conclude_all() {
    for (size_t b = 0; b < inputs_.size(); ++b) {
      conclude(inputs_[b], static_cast<int64_t>(b) * options_.beam);
    }
    inputs_.clear();
  }

  StepDecoder& decoder_;
  const SearchOptions& options_;
  const int64_t width_;    // of a group
  const int64_t longest_;  // caption, without its end token
  std::vector<std::vector<Hypothesis>> results_;
  std::vector<Input> inputs_;
  std::vector<Row> rows_;            // of the open inputs, `beam` each; of a group best first
  torch::Tensor log_probabilities_;  // of the rows' next tokens, [R, V]
  std::vector<float> ruled_;         // one row's under the rules
  std::optional<TokenRules> rules_;  // once V is known
  std::vector<Step> history_;
  int64_t step_ = 0;  // tokens that every row has
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(StepDecoder& decoder, const SearchOptions& options) {
  return BeamSearch(decoder, options).run();
}

}  // namespace gaze::models
