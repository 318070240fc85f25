// Sampling: every row of an input draws a caption for itself.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/decoder/search_parts.h"
#include "models/decoder/token_rules.h"
#include "modules/core/check.h"
#include "modules/core/random.h"

namespace gaze::models {
namespace {

// A caption that is being drawn.
struct Sample {
  Hypothesis caption;
  TokenRules::State state;
  double ranked = 0;  // sum of what the search ranks by
  bool open = true;
};

class SampleSearch {
 public:
  SampleSearch(StepDecoder& decoder, const SearchOptions& options)
      : decoder_(decoder),
        options_(options),
        count_(static_cast<size_t>(options.sampling.samples)),
        longest_(longest_caption(decoder, options)),
        samples_(static_cast<size_t>(decoder.inputs()), std::vector<Sample>(count_)) {
    for (size_t b = 0; b < samples_.size(); ++b) inputs_.push_back(b);
    check_that(options.sampling.inputs.empty() || options.sampling.inputs.size() == samples_.size(), "search",
               fmt::format("numbers of {} inputs", samples_.size()),
               fmt::format("{}", options.sampling.inputs.size()));
  }

  std::vector<std::vector<Hypothesis>> run() {
    while (!inputs_.empty()) advance();
    std::vector<std::vector<Hypothesis>> results;
    for (std::vector<Sample>& samples : samples_) results.push_back(best_of(samples));
    return results;
  }

 private:
  uint64_t number(size_t input) const {
    return options_.sampling.inputs.empty() ? input : options_.sampling.inputs[input];
  }

  // One more token of every open sample; inputs without any leave the batch.
  void advance() {
    std::vector<int64_t> tokens;
    for (const size_t input : inputs_) {
      for (const Sample& sample : samples_[input]) {
        const std::vector<int64_t>& own = sample.caption.tokens;
        tokens.push_back(own.empty() ? options_.specials.start : own.back());
      }
    }
    const DecoderStep step = ask(decoder_, tokens);
    const int64_t V = step.log_probabilities.size(1);
    if (!rules_) {
      rules_.emplace(options_.constraints, options_.specials, longest_, V);
      for (std::vector<Sample>& samples : samples_) {
        for (Sample& sample : samples) sample.state = rules_->start();
      }
    }
    std::vector<size_t> open;
    std::vector<int64_t> rows;
    int64_t row = 0;
    for (const size_t input : inputs_) {
      const int64_t first = row;
      for (size_t i = 0; i < count_; ++i, ++row) {
        if (samples_[input][i].open) draw(input, i, row, step);
      }
      const auto is_open = [](const Sample& sample) { return sample.open; };
      if (std::none_of(samples_[input].begin(), samples_[input].end(), is_open)) continue;
      open.push_back(input);
      for (int64_t r = first; r < row; ++r) rows.push_back(r);
    }
    inputs_ = std::move(open);
    if (!inputs_.empty()) reorder(decoder_, rows, row);
  }

  void draw(size_t input, size_t i, int64_t row, const DecoderStep& step) {
    Sample& sample = samples_[input][i];
    const int64_t V = step.log_probabilities.size(1);
    const float* own = step.log_probabilities.const_data_ptr<float>() + row * V;
    const float* ranked = own;
    if (rules_->any()) {
      ruled_.assign(own, own + V);
      rules_->apply(sample.state, ruled_.data());
      ranked = ruled_.data();
    }
    const auto length = static_cast<int64_t>(sample.caption.tokens.size());
    Random random({options_.sampling.seed, number(input), i, static_cast<uint64_t>(length)});
    const int64_t token = drawn_token(ranked, V, options_.sampling, options_.specials, random.uniform());
    const bool ends = token == options_.specials.end;
    if (token < 0 || (length == longest_ && !ends)) {
      sample.open = false;
      return;
    }
    sample.caption.tokens.push_back(token);
    sample.caption.log_probabilities.push_back(static_cast<double>(own[token]));
    sample.caption.log_probability += static_cast<double>(own[token]);
    sample.caption.maps.push_back(step.map[row].clone());
    sample.ranked += static_cast<double>(ranked[token]);
    sample.caption.finished = ends;
    if (!ends) sample.state = rules_->after(sample.state, token);
    sample.open = !ends && (length + 1 < longest_ || rules_->captions_end());
  }

  std::vector<Hypothesis> best_of(std::vector<Sample>& samples) const {
    std::vector<Hypothesis> captions;
    for (Sample& sample : samples) {
      const auto is_same = [&](const Hypothesis& other) { return other.tokens == sample.caption.tokens; };
      if (std::any_of(captions.begin(), captions.end(), is_same)) continue;
      sample.caption.score =
          score(options_, sample.ranked, static_cast<int64_t>(sample.caption.tokens.size()));
      captions.push_back(std::move(sample.caption));
    }
    std::stable_sort(captions.begin(), captions.end(), [](const Hypothesis& a, const Hypothesis& b) {
      return a.finished != b.finished ? a.finished : a.score > b.score;
    });
    if (static_cast<int64_t>(captions.size()) > options_.best) {
      captions.resize(static_cast<size_t>(options_.best));
    }
    return captions;
  }

  StepDecoder& decoder_;
  const SearchOptions& options_;
  const size_t count_;
  const int64_t longest_;
  std::vector<std::vector<Sample>> samples_;  // [inputs, count_]
  std::vector<size_t> inputs_;                // that have an open sample
  std::optional<TokenRules> rules_;           // once V is known
  std::vector<float> ruled_;                  // [V]
};

}  // namespace

std::vector<std::vector<Hypothesis>> draw_samples(StepDecoder& decoder, const SearchOptions& options) {
  return SampleSearch(decoder, options).run();
}

}  // namespace gaze::models
