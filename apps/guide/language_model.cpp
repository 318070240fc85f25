// A model of language, character by character, whose recurrent core is replaced: residual layers of attention
// with codes of places, against an LSTM with as much to learn. Which learns a small book better, which
// faster?
#include <torch/torch.h>

#include <chrono>
#include <fstream>

#include "apps/guide/print.h"
#include "apps/guide/training.h"
#include "modules/attention/positions.h"
#include "modules/attention/transformer.h"

using torch::Tensor;
constexpr int64_t B = 16, T = 64, D = 64, kSteps = 1000, kLetters = 128, kLstmWidth = 122;

int main() {
  torch::manual_seed(1);
  torch::set_num_threads(1);  // the matrices are small
  std::ifstream file(GUIDE_TEXT);
  std::vector<int64_t> letters;  // in ASCII
  for (std::string word; file >> word;)
    for (const char c : word + " ") letters.push_back(c);
  const Tensor text = torch::tensor(letters);
  const int64_t read = text.size(0) * 9 / 10;  // the rest is held out

  const auto compare = [&](const char* name, const std::vector<Tensor>& parameters, int64_t width,
                           const auto& core) {
    torch::nn::Embedding embedding(kLetters, D);
    torch::nn::Linear head(width, kLetters);
    std::vector<Tensor> all = guide::parameters_of(embedding, head);
    all.insert(all.end(), parameters.begin(), parameters.end());
    torch::optim::Adam optimizer(all);
    const auto bits = [&](const Tensor& start) {  // a character, in the windows that start there
      const Tensor window = text.index({start.unsqueeze(1) + torch::arange(T + 1)});    // [B, T + 1]
      const Tensor next = head(core(embedding(window.narrow(1, 0, T)))).flatten(0, 1);  // [B T, kLetters]
      return torch::nn::functional::cross_entropy(next, window.narrow(1, 1, T).flatten()) / std::log(2);
    };
    const auto start = std::chrono::steady_clock::now();
    for (int64_t step = 0; step < kSteps; ++step) {
      optimizer.param_groups()[0].options().set_lr(1e-2 * (kSteps - step) / kSteps);
      guide::learn(optimizer, bits(torch::randint(read - T, {B}, torch::kLong)));
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const Tensor held_out = bits(torch::arange(read, text.size(0) - T, T)).detach();
    fmt::print("{:<12}{:>12}{:>12.2f}{:>12.1f}\n", name, guide::count(all), held_out.item<double>(),
               time.count());
  };
  fmt::print("{:<12}{:>12}{:>12}{:>12}\n", "core", "parameters", "bits", "seconds");
  gaze::TransformerLayerOptions options{D, 2, 4 * D, 0};  // two heads, no dropout
  options.norm_first = true;
  gaze::TransformerEncoderLayer first(options), second(options);
  const Tensor places = gaze::sinusoidal_positions(0, T, D), past = torch::ones({T, T}, torch::kBool).tril();
  compare("attention", guide::parameters_of(first, second), D, [&](const Tensor& x) {
    return second(first(x + places, past).output, past).output;  // [B, T, D]; nobody sees what comes next
  });
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(D, kLstmWidth).batch_first(true));
  compare("LSTM", lstm->parameters(), kLstmWidth, [&](const Tensor& x) { return std::get<0>(lstm(x)); });
}
