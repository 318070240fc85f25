// Why several heads. In "Anna fed the cat and it purred", "it" looks for two things at once: the word it
// stands for, and the word after it. The weights of one head sum to 1, so it can only mix the two. Two heads
// of the same size look once each. Here the weights that a model would learn are set by hand, the same for
// both.
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "modules/attention/multi_head_attention.h"

int main() {
  const torch::NoGradGuard no_gradients;
  const std::vector<std::string_view> words = {"Anna", "fed", "the", "cat", "and", "it", "purred"};
  const torch::Tensor kinds = torch::tensor({0, 2, 3, 1, 4, 1, 5});  // "cat" and "it" are both 1, an animal
  const int64_t T = kinds.size(0), it = 5, half = 32;
  const torch::Tensor kind = torch::one_hot(kinds, half).to(torch::kFloat);              // [T, 32]
  const torch::Tensor place = torch::one_hot(torch::arange(T), half).to(torch::kFloat);  // [T, 32]
  const torch::Tensor not_itself = ~torch::eye(T).to(torch::kBool);                      // [T, S]

  for (const int64_t heads : {1, 2}) {
    gaze::MultiHeadAttentionOptions options;
    options.query_width = 2 * half;
    options.heads = heads;
    gaze::MultiHeadAttention attention(options);
    auto weights = attention->named_parameters();
    const torch::Tensor same = torch::eye(half);
    const torch::Tensor next = torch::eye(half).roll(1, 0);  // a code of place t becomes that of t + 1
    weights["query.weight"].copy_(60 * torch::block_diag({same, next}));  // the query asks: same kind; next
    for (const char* name : {"key.weight", "value.weight", "out.weight"})
      weights[name].copy_(torch::eye(2 * half));

    // A word's content: its kind and its place. Two contents each, to see what becomes of the output when
    // what "cat" and "purred" say is exchanged.
    const torch::Tensor x = torch::cat({kind, place}, 1).unsqueeze(0);  // [B = 1, T, D = 64]
    torch::Tensor says = torch::cat({place, place}, 1).unsqueeze(0);    // [1, T, 64]
    const auto look = [&] {
      return attention->forward(x, x, says, not_itself, gaze::AttentionWeights::per_head);
    };
    const gaze::AttendedTokens seen = look();
    guide::print_head(fmt::format("\n{} head{}, \"it\" looks at", heads, heads == 1 ? "" : "s"), words);
    for (int64_t n = 0; n < heads; ++n)
      guide::print_row(fmt::format("head {}", n + 1), seen.weights[0][n][it]);  // [S]

    says = says.index_select(1, torch::tensor({0, 1, 2, 6, 4, 5, 3}));  // "cat" and "purred" exchanged
    const torch::Tensor change = look().output[0][it] - seen.output[0][it];
    guide::print_row("exchange changes output", {change.norm().item<double>()});
  }
}
