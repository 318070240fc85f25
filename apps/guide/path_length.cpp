// How far back does a network remember? A value is shown once, then noise, then the network is asked for the
// value. For an LSTM each step in between is a link that has to hold; attention reaches any place in one
// step.
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "apps/guide/training.h"
#include "modules/attention/transformer.h"

namespace {

constexpr int64_t D = 32, kValues = 8, kSteps = 300;

// Tokens below kValues are values, the others noise. Returns how far the gradient gets before training (the
// norm of the loss's gradient at the value's token), then the share of right answers on new sequences.
template <typename Core, typename Read>
std::pair<double, double> recall(int64_t distance, Core core, const Read& read) {
  torch::nn::Embedding embedding(2 * kValues, D);
  torch::nn::Linear head(D, kValues);
  torch::optim::Adam optimizer(guide::parameters_of(embedding, core, head), torch::optim::AdamOptions(3e-3));
  double gradient = 0;
  for (int64_t step = 0;; ++step) {
    const int64_t B = step < kSteps ? 32 : 1000;
    const torch::Tensor value = torch::randint(kValues, {B, 1}, torch::kLong);  // [B, 1]
    const torch::Tensor noise = torch::randint(kValues, 2 * kValues, {B, distance}, torch::kLong);
    const torch::Tensor x = embedding(torch::cat({value, noise}, 1));  // [B, T, D]
    const torch::Tensor answer = head(read(core, x).select(1, -1));    // [B, kValues], at the last token
    if (step == kSteps) return {gradient, guide::mean_of(answer.argmax(1) == value.squeeze(1))};
    const torch::Tensor loss = torch::nn::functional::cross_entropy(answer, value.squeeze(1));
    if (step == 0) {
      const torch::Tensor all = torch::autograd::grad({loss}, {x}, {}, true)[0];  // [B, T, D]
      gradient = all.select(1, 0).to(torch::kDouble).norm().item<double>();
    }
    guide::learn(optimizer, loss);
  }
}

}  // namespace

int main() {
  torch::set_num_threads(1);  // the matrices are small
  fmt::print("gradient at the value before training; right answers after {} steps\n", kSteps);
  fmt::print("{:8}{:>12}{:>12}{:>12}{:>12}\n", "distance", "LSTM", "attention", "LSTM", "attention");
  for (const int64_t distance : {1, 3, 10, 30, 100}) {
    torch::manual_seed(1);
    torch::nn::LSTM lstm(torch::nn::LSTMOptions(D, D).batch_first(true));  // 8448 numbers to learn
    const auto [far, right] =
        recall(distance, lstm, [](auto& l, const auto& x) { return std::get<0>(l(x)); });
    // One head, 2 D numbers inside the feed-forward layer, no dropout: 8544 numbers to learn.
    gaze::TransformerEncoderLayer layer(gaze::TransformerLayerOptions{D, 1, 2 * D, 0});
    const auto [far_a, right_a] = recall(distance, layer, [](auto& l, const auto& x) { return l(x).output; });
    fmt::print("{:8}{:12.1e}{:12.1e}{:10.0f} %{:10.0f} %\n", distance, far, far_a, 100 * right,
               100 * right_a);
  }
}
