#include "models/explain/word_scores.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <vector>

#include "modules/core/check.h"

namespace gaze::models {
namespace {

// The word of each token, [T]; tokens of no word have the number behind the last word's.
at::Tensor words_of_tokens(const std::vector<TokenSpan>& words, int64_t tokens) {
  at::Tensor word_of = at::full({tokens}, static_cast<int64_t>(words.size()), at::kLong);
  for (size_t w = 0; w < words.size(); ++w) {
    word_of.slice(0, static_cast<int64_t>(words[w].first), static_cast<int64_t>(words[w].last))
        .fill_(static_cast<int64_t>(w));
  }
  return word_of;
}

}  // namespace

Scores word_scores(Captioner& captioner, const Caption& caption) {
  const auto T = static_cast<int64_t>(caption.tokens.size());
  const int64_t most = captioner.decoder().max_tokens();
  check_that(T <= most, "explain", fmt::format("at most {} tokens", most), fmt::format("{}", T));
  const std::vector<TokenSpan> words = captioner.tokenizer().words(caption.tokens);
  const at::Tensor said = at::tensor(caption.tokens, at::kLong);
  const at::Tensor start = at::tensor({captioner.tokenizer().specials().start}, at::kLong);
  const at::Tensor before = at::cat({start, said}).narrow(0, 0, T);
  const at::Tensor word_of = words_of_tokens(words, T);
  const auto W = static_cast<int64_t>(words.size());
  return [&captioner, said, before, word_of, W](const at::Tensor& x) {
    const int64_t B = x.size(0);
    WordDecoder& decoder = captioner.decoder();
    const at::Tensor memory = decoder.look_at(captioner.visual(x)).memory;
    const at::Tensor logits = decoder.forward(before.expand({B, -1}), memory);  // [B, T, V]
    const at::Tensor each =
        logits.log_softmax(2).gather(2, said.view({1, -1, 1}).expand({B, -1, 1})).squeeze(2);  // [B, T]
    return at::zeros({B, W + 1}, each.options()).index_add(1, word_of, each).narrow(1, 0, W);
  };
}

}  // namespace gaze::models
