// Attention does not know the order of words: shuffle them and the outputs are shuffled alike, nothing more.
// Order has to be put in, as a code added to each word (where it is) or a bias of each pair (how far apart).
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "modules/attention/multi_head_attention.h"
#include "modules/attention/positions.h"

namespace {

constexpr int64_t kWidth = 64, kWords = 6, kShift = 4;

// How much the words' outputs change, at most, when the words change places, and when all move on by kShift.
std::vector<double> changes(gaze::MultiHeadAttention& attention, bool codes) {
  const torch::Tensor words = torch::randn({1, kWords, kWidth});  // [B, T, D]
  const torch::Tensor order = torch::tensor({3, 1, 5, 0, 2, 4});  // word 0 goes where 3 was ...
  const auto look = [&](const torch::Tensor& x, const torch::Tensor& padding = {}) {
    const torch::Tensor placed = codes ? x + gaze::sinusoidal_positions(0, x.size(1), kWidth) : x;
    return attention->forward(placed, placed, placed, {{}, padding}).output;  // [1, T, D]
  };
  const torch::Tensor usual = look(words);
  const torch::Tensor shuffled = look(words.index_select(1, order));

  const torch::Tensor moved = torch::cat({torch::zeros({1, kShift, kWidth}), words}, 1);  // [1, shift + T, D]
  const torch::Tensor padding = torch::arange(kShift + kWords).lt(kShift).unsqueeze(0);  // nobody looks there
  const torch::Tensor later = look(moved, padding).slice(1, kShift);                     // [1, T, D]
  return {(shuffled - usual.index_select(1, order)).abs().max().item<double>(),
          (later - usual).abs().max().item<double>()};
}

}  // namespace

int main() {
  torch::manual_seed(1);
  const torch::NoGradGuard no_gradients;
  gaze::MultiHeadAttentionOptions options;
  options.query_width = kWidth;
  options.heads = 2;
  gaze::MultiHeadAttention plain(options);
  options.relative = kWords;  // a bias for each distance up to 5, before or behind
  gaze::MultiHeadAttention relative(options);
  torch::nn::init::normal_(relative->named_parameters()["relative"]);  // as if learned; it starts at 0

  fmt::print("{:<24}{:>8}{:>16}\n", "output changes when", "shuffled", "moved by 4");
  const auto row = [](const char* label, const std::vector<double>& c) {
    fmt::print("{:<24}{:>8.4f}{:>16.4f}\n", label, c[0], c[1]);
  };
  row("no positions", changes(plain, false));
  row("sinusoidal codes", changes(plain, true));
  row("relative bias", changes(relative, false));

  // Why sines: the product of two codes depends on their distance alone, wherever they are.
  const torch::Tensor code = gaze::sinusoidal_positions(0, 1000, kWidth);  // [1000, D]
  guide::print_head("\ncode * code, distance", {"0", "1", "2", "10", "100"});
  for (const int64_t t : {0, 500})
    guide::print_row(fmt::format("from place {}", t),
                     code.mv(code[t]).index_select(0, torch::tensor({0, 1, 2, 10, 100}) + t), 2);
}
