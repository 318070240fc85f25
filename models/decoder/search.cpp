#include "models/decoder/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/decoder/search_parts.h"
#include "modules/core/check.h"

namespace gaze::models {
namespace {

constexpr char kOp[] = "search";

void check_sampling(const SearchOptions& options) {
  const Sampling& sampling = options.sampling;
  check_that(sampling.samples >= 0, kOp, "samples >= 0", fmt::format("samples {}", sampling.samples));
  check_that(std::isfinite(sampling.temperature) && sampling.temperature > 0, kOp, "a temperature above 0",
             fmt::format("temperature {}", sampling.temperature));
  check_that(sampling.top_k >= 0, kOp, "top_k >= 0", fmt::format("top_k {}", sampling.top_k));
  check_that(sampling.top_p > 0 && sampling.top_p <= 1, kOp, "top_p in (0, 1]",
             fmt::format("top_p {}", sampling.top_p));
  check_that(sampling.samples == 0 || options.groups == 1, kOp, "samples or groups, not both",
             fmt::format("samples {}, groups {}", sampling.samples, options.groups));
}

// A decoder of pictures in evaluation mode; afterwards it is as it was.
class Evaluating {
 public:
  explicit Evaluating(WordDecoder& decoder) : decoder_(decoder), was_training_(decoder.is_training()) {
    decoder_.eval();
  }
  ~Evaluating() { decoder_.train(was_training_); }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  WordDecoder& decoder_;
  const bool was_training_;
};

void check_memory(const torch::Tensor& memory) {
  check_shape(memory, "memory", {"B", "S", "D"}, kOp);
  check_that(memory.isfinite().all().item<bool>(), kOp, "finite memory", "memory with NaN or infinity");
}

}  // namespace

int64_t longest_caption(const StepDecoder& decoder, const SearchOptions& options) {
  return std::min(options.max_words, decoder.max_tokens() - 1);
}

double score(const SearchOptions& options, double log_probability, int64_t length) {
  const auto L = static_cast<double>(length);
  if (options.length_norm == LengthNorm::average) return log_probability / std::max(L, 1.0);
  return log_probability / std::pow((5 + L) / 6, options.length_penalty);
}

DecoderStep ask(StepDecoder& decoder, const std::vector<int64_t>& tokens) {
  DecoderStep next = decoder.step(torch::tensor(tokens, torch::kLong));
  next.log_probabilities = next.log_probabilities.to(torch::kCPU, torch::kFloat).contiguous();
  return next;
}

void reorder(StepDecoder& decoder, const std::vector<int64_t>& rows, int64_t rows_before) {
  bool same = static_cast<int64_t>(rows.size()) == rows_before;
  for (size_t i = 0; i < rows.size() && same; ++i) same = rows[i] == static_cast<int64_t>(i);
  if (!same) decoder.reorder(torch::tensor(rows, torch::kLong));
}

void check_search(const SearchOptions& options) {
  check_that(options.beam >= 1, kOp, "beam >= 1", fmt::format("beam {}", options.beam));
  check_sampling(options);
  const int64_t rows = rows_per_input(options);
  check_that(options.best >= 1 && options.best <= rows, kOp,
             fmt::format("best in 1..{} ({})", options.sampling.samples > 0 ? "samples" : "beam", rows),
             fmt::format("best {}", options.best));
  check_that(options.max_words >= 1, kOp, "max_words >= 1", fmt::format("max_words {}", options.max_words));
  check_that(std::isfinite(options.length_penalty), kOp, "a finite length_penalty",
             fmt::format("length_penalty {}", options.length_penalty));
  check_that(options.groups >= 1 && options.beam % options.groups == 0, kOp,
             fmt::format("groups that share beam {} equally", options.beam),
             fmt::format("groups {}", options.groups));
  check_that(std::isfinite(options.diversity) && options.diversity >= 0, kOp, "diversity >= 0",
             fmt::format("diversity {}", options.diversity));
}

int64_t rows_per_input(const SearchOptions& options) {
  return options.sampling.samples > 0 ? options.sampling.samples : options.beam;
}

std::vector<std::vector<Hypothesis>> search(StepDecoder& decoder, const SearchOptions& options) {
  check_search(options);
  const torch::NoGradGuard no_grad;
  return options.sampling.samples > 0 ? draw_samples(decoder, options) : beam_search(decoder, options);
}

std::vector<std::vector<Hypothesis>> search(WordDecoder& decoder, const torch::Tensor& memory,
                                            const SearchOptions& options) {
  check_search(options);
  check_memory(memory);
  check_constraints(options.constraints, options.specials,
                    std::min(options.max_words, decoder.max_tokens() - 1), decoder.vocabulary());
  const torch::NoGradGuard no_grad;
  const Evaluating evaluating(decoder);
  const std::unique_ptr<StepDecoder> steps = decoder.start(memory, rows_per_input(options));
  return search(*steps, options);
}

std::vector<Hypothesis> score_tokens(StepDecoder& decoder, const std::vector<std::vector<int64_t>>& tokens,
                                     const SearchOptions& options) {
  const auto B = static_cast<int64_t>(tokens.size());
  check_that(B == decoder.inputs(), kOp, fmt::format("tokens of {} inputs", decoder.inputs()),
             fmt::format("{}", B));
  size_t longest = 0;
  for (const std::vector<int64_t>& sequence : tokens) {
    check_that(!sequence.empty() && static_cast<int64_t>(sequence.size()) <= decoder.max_tokens(), kOp,
               fmt::format("1..{} tokens to score, the end token included", decoder.max_tokens()),
               fmt::format("{}", sequence.size()));
    longest = std::max(longest, sequence.size());
  }
  const torch::NoGradGuard no_grad;
  std::vector<Hypothesis> scored(tokens.size());
  std::vector<int64_t> last(tokens.size(), options.specials.start);
  for (size_t t = 0; t < longest; ++t) {
    const DecoderStep step = ask(decoder, last);
    const int64_t V = step.log_probabilities.size(1);
    for (size_t b = 0; b < tokens.size(); ++b) {
      if (t >= tokens[b].size()) continue;  // it goes on with its last token, and nobody looks
      const int64_t token = last[b] = tokens[b][t];
      check_that(token >= 0 && token < V, kOp, fmt::format("tokens in 0..{}", V - 1),
                 fmt::format("token {}", token));
      const auto row = static_cast<int64_t>(b);
      const double log_p =
          static_cast<double>(step.log_probabilities.const_data_ptr<float>()[row * V + token]);
      scored[b].tokens.push_back(token);
      scored[b].log_probabilities.push_back(log_p);
      scored[b].maps.push_back(step.map[row].clone());
      scored[b].log_probability += log_p;
    }
  }
  for (Hypothesis& hypothesis : scored) {
    hypothesis.score =
        score(options, hypothesis.log_probability, static_cast<int64_t>(hypothesis.tokens.size()));
    hypothesis.finished = hypothesis.tokens.back() == options.specials.end;
  }
  return scored;
}

std::vector<Hypothesis> score_tokens(WordDecoder& decoder, const torch::Tensor& memory,
                                     const std::vector<std::vector<int64_t>>& tokens,
                                     const SearchOptions& options) {
  check_memory(memory);
  const torch::NoGradGuard no_grad;
  const Evaluating evaluating(decoder);
  const std::unique_ptr<StepDecoder> steps = decoder.start(memory, 1);
  return score_tokens(*steps, tokens, options);
}

}  // namespace gaze::models
