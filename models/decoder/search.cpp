#include "models/decoder/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// One more token after a row of the step before.
struct Choice {
  int64_t token = 0;
  int64_t parent = 0;          // that row
  double log_probability = 0;  // of the token
  double total = kImpossible;  // of all tokens so far
};

// An end token that was chosen, after the words of a row.
struct End {
  Choice choice;
  int64_t step = 0;
  double score = 0;
};

// What is kept of each step, so that a hypothesis can be read back from its last token.
struct Step {
  torch::Tensor maps;        // of the rows that were asked: [R, N, S]
  std::vector<Choice> rows;  // the rows after it
};

// A picture that is still searched.
struct Picture {
  size_t index = 0;
  std::vector<End> ends;  // best score first, at most `best`
};

// The best continuations of each picture, best first.
struct Candidates {
  torch::Tensor totals;  // [B, count], float64
  torch::Tensor places;  // [B, count], row in the picture * V + token
  torch::Tensor tokens;  // log-probabilities [R, V], float64
};

class Search {
 public:
  Search(StepDecoder& decoder, const SearchOptions& options)
      : decoder_(decoder),
        options_(options),
        longest_(std::min(options.max_words, decoder.max_tokens() - 1)),
        results_(static_cast<size_t>(decoder.inputs())) {
    for (size_t b = 0; b < results_.size(); ++b) {
      pictures_.push_back({b, {}});
      // A picture's rows start alike: only the first may be continued.
      for (int64_t i = 0; i < options.beam; ++i) {
        rows_.push_back({options.specials.start, 0, 0.0, i == 0 ? 0.0 : kImpossible});
      }
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    while (!pictures_.empty()) advance();
    return std::move(results_);
  }

 private:
  double score(double log_probability, int64_t length) const {
    return log_probability / std::pow((5.0 + static_cast<double>(length)) / 6.0, options_.length_penalty);
  }

  // No caption that continues a row with this log-probability after step_ can score better.
  double bound(double total) const { return std::max(score(total, step_ + 2), score(total, longest_ + 1)); }

  Candidates ask() {
    std::vector<int64_t> tokens;
    std::vector<double> totals;
    for (const Choice& row : rows_) {
      tokens.push_back(row.token);
      totals.push_back(row.total);
    }
    DecoderStep next = decoder_.step(torch::tensor(tokens, torch::kLong));
    history_.push_back({next.map, {}});
    torch::Tensor each = next.log_probabilities.to(torch::kDouble).contiguous();  // [R, V]
    for (const int64_t never : {options_.specials.pad, options_.specials.start, options_.specials.unknown}) {
      each.select(1, never).fill_(kImpossible);
    }
    const torch::Tensor sums = each + torch::tensor(totals, torch::kDouble).unsqueeze(1);  // [R, V]
    // At most one continuation of a row ends, so twice the beam leaves a beam that does not.
    const int64_t width = options_.beam * each.size(1);
    const auto [best, places] =
        sums.view({-1, width}).topk(std::min(2 * options_.beam, width), 1);  // [B, count]
    return {best.contiguous(), places.contiguous(), each};
  }

  // The continuations of picture b that go on; those that end are filed with it.
  std::vector<Choice> choose(Picture& picture, int64_t b, const Candidates& candidates) {
    const int64_t V = candidates.tokens.size(1), count = candidates.totals.size(1);
    const double* totals = candidates.totals.const_data_ptr<double>() + b * count;
    const int64_t* places = candidates.places.const_data_ptr<int64_t>() + b * count;
    const double* tokens = candidates.tokens.const_data_ptr<double>();
    std::vector<Choice> going;
    for (int64_t rank = 0; rank < count && totals[rank] > kImpossible; ++rank) {
      const int64_t row = b * options_.beam + places[rank] / V, token = places[rank] % V;
      const Choice choice{token, row, tokens[row * V + token], totals[rank]};
      if (token == options_.specials.end) {
        if (rank < options_.beam) file(picture, choice);
      } else if (static_cast<int64_t>(going.size()) < options_.beam) {
        going.push_back(choice);
      }
    }
    return going;
  }

  void file(Picture& picture, const Choice& choice) {
    const End end{choice, step_, score(choice.total, step_ + 1)};
    const auto place = std::find_if(picture.ends.begin(), picture.ends.end(),
                                    [&](const End& other) { return other.score < end.score; });
    picture.ends.insert(place, end);
    if (static_cast<int64_t>(picture.ends.size()) > options_.best) picture.ends.pop_back();
  }

  bool is_done(const Picture& picture, const std::vector<Choice>& going) const {
    if (step_ == longest_ || going.empty()) return true;
    if (options_.beam == 1) return !picture.ends.empty();
    if (static_cast<int64_t>(picture.ends.size()) < options_.best) return false;
    return bound(going.front().total) <= picture.ends.back().score;
  }

  // Prepends the tokens that lead to `row` of the rows before `step`.
  void read_back(int64_t step, int64_t row, Hypothesis& hypothesis) const {
    while (step > 0) {
      const Step& before = history_[static_cast<size_t>(--step)];
      const Choice& choice = before.rows[static_cast<size_t>(row)];
      append(before, choice, hypothesis);
      row = choice.parent;
    }
    std::reverse(hypothesis.tokens.begin(), hypothesis.tokens.end());
    std::reverse(hypothesis.log_probabilities.begin(), hypothesis.log_probabilities.end());
    std::reverse(hypothesis.maps.begin(), hypothesis.maps.end());
  }

  static void append(const Step& step, const Choice& choice, Hypothesis& hypothesis) {
    hypothesis.tokens.push_back(choice.token);
    hypothesis.log_probabilities.push_back(choice.log_probability);
    hypothesis.maps.push_back(step.maps[choice.parent].clone());
  }

  // Reads the picture's captions back; rows that were cut at longest_ fill up what finished ones leave free.
  void conclude(const Picture& picture, int64_t b) {
    std::vector<Hypothesis>& captions = results_[picture.index];
    for (const End& end : picture.ends) {
      Hypothesis caption;
      caption.finished = true;
      caption.log_probability = end.choice.total;
      caption.score = end.score;
      append(history_[static_cast<size_t>(end.step)], end.choice, caption);
      read_back(end.step, end.choice.parent, caption);
      captions.push_back(std::move(caption));
    }
    for (int64_t row = b * options_.beam; row < (b + 1) * options_.beam; ++row) {  // best first
      if (static_cast<int64_t>(captions.size()) >= options_.best) return;
      const double total = rows_[static_cast<size_t>(row)].total;
      const bool ended = std::any_of(picture.ends.begin(), picture.ends.end(), [&](const End& end) {
        return end.step == step_ && end.choice.parent == row;
      });
      if (ended || !(total > kImpossible)) continue;
      Hypothesis caption;
      caption.log_probability = total;
      caption.score = score(total, step_);
      read_back(step_, row, caption);
      captions.push_back(std::move(caption));
    }
  }

  // One more word for every row of every picture; pictures that are done leave the batch.
  void advance() {
    const Candidates candidates = ask();
    std::vector<Choice> rows;
    std::vector<Picture> open;
    for (size_t b = 0; b < pictures_.size(); ++b) {
      const int64_t first_row = static_cast<int64_t>(b) * options_.beam;
      std::vector<Choice> going = choose(pictures_[b], static_cast<int64_t>(b), candidates);
      if (is_done(pictures_[b], going)) {
        conclude(pictures_[b], static_cast<int64_t>(b));
        continue;
      }
      going.resize(static_cast<size_t>(options_.beam),
                   Choice{options_.specials.end, first_row, 0.0, kImpossible});
      rows.insert(rows.end(), going.begin(), going.end());
      open.push_back(std::move(pictures_[b]));
    }
    pictures_ = std::move(open);
    rows_ = std::move(rows);
    history_.back().rows = rows_;
    ++step_;
    if (pictures_.empty()) return;
    std::vector<int64_t> parents;
    for (const Choice& row : rows_) parents.push_back(row.parent);
    decoder_.reorder(torch::tensor(parents, torch::kLong));
  }

  StepDecoder& decoder_;
  const SearchOptions& options_;
  const int64_t longest_;  // words
  std::vector<std::vector<Hypothesis>> results_;
  std::vector<Picture> pictures_;
  std::vector<Choice> rows_;  // of the open pictures, `beam` each, best first
  std::vector<Step> history_;
  int64_t step_ = 0;  // words that every row has
};

}  // namespace

void check_search(const SearchOptions& options) {
  check_that(options.beam >= 1, "search", "beam >= 1", fmt::format("beam {}", options.beam));
  check_that(options.best >= 1 && options.best <= options.beam, "search",
             fmt::format("best in 1..beam ({})", options.beam), fmt::format("best {}", options.best));
  check_that(options.max_words >= 1, "search", "max_words >= 1",
             fmt::format("max_words {}", options.max_words));
  check_that(std::isfinite(options.length_penalty), "search", "a finite length_penalty",
             fmt::format("length_penalty {}", options.length_penalty));
}

std::vector<std::vector<Hypothesis>> search(StepDecoder& decoder, const SearchOptions& options) {
  check_search(options);
  const torch::NoGradGuard no_grad;
  return Search(decoder, options).run();
}

std::vector<std::vector<Hypothesis>> search(WordDecoder& decoder, const torch::Tensor& memory,
                                            const SearchOptions& options) {
  check_search(options);
  check_shape(memory, "memory", {"B", "S", "D"}, "search");
  check_that(memory.isfinite().all().item<bool>(), "search", "finite memory", "memory with NaN or infinity");
  const torch::NoGradGuard no_grad;
  const bool training = decoder.is_training();
  decoder.eval();
  const std::unique_ptr<StepDecoder> steps = decoder.start(memory, options.beam);
  std::vector<std::vector<Hypothesis>> captions = search(*steps, options);
  decoder.train(training);
  return captions;
}

}  // namespace gaze::models
