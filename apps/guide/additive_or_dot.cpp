// Two ways to score a query against a key. Dot products of all pairs are one matrix product. The additive
// score, v * tanh(query + key), is a tanh for each number of each pair, and no matrix product. Written as it
// stands it also makes a tensor of T * S * D numbers; gaze::ops::additive_attend goes without.
#include <torch/torch.h>

#include "apps/guide/measure.h"
#include "apps/guide/print.h"
#include "modules/ops/additive_attend/additive_attend.h"
#include "modules/ops/attend/attend.h"

int main() {
  torch::manual_seed(1);
  torch::set_num_threads(1);
  const torch::NoGradGuard no_gradients;
  constexpr int64_t T = 128, D = 64;  // queries; numbers a query and a key, both projected already
  gaze::ops::AttendOptions options;
  options.weights = gaze::ops::AttendWeights::head_mean;  // all return their weights

  fmt::print("Width {}, {} queries; MB: the most memory at once, weights and output included\n", D, T);
  fmt::print("{:<24}{:>18}{:>18}{:>18}{:>18}\n", "", "dot, as written", "attend", "additive, written",
             "additive_attend");
  guide::print_head("keys   T * S * D, MB", {"ms", "MB", "ms", "MB", "ms", "MB", "ms", "MB"});
  double difference = 0;
  for (int64_t S = 128; S <= 2048; S *= 2) {
    const torch::Tensor query = torch::randn({1, T, D}), keys = torch::randn({1, S, D});  // [B, T or S, D]
    const torch::Tensor v = torch::randn({D}) / std::sqrt(D), k = keys.unsqueeze(1);  // k [B, N = 1, S, D]
    const auto dot_written = [&] {
      const torch::Tensor weights = query.matmul(keys.transpose(1, 2)).div_(std::sqrt(D)).softmax(-1);
      return std::pair{weights.matmul(keys), weights};  // [B, T, D], [B, T, S]
    };
    const auto additive_written = [&] {
      const torch::Tensor sums = query.unsqueeze(2) + keys.unsqueeze(1);  // [B, T, S, D]
      const torch::Tensor weights = sums.tanh().matmul(v).softmax(-1);    // [B, T, S]
      return std::pair{weights.matmul(keys), weights};                    // [B, T, D], [B, T, S]
    };
    const auto dot = [&] { return gaze::ops::attend(query.unsqueeze(1), k, k, {}, options); };
    const auto additive = [&] { return gaze::ops::additive_attend(query, keys, v, keys); };
    std::vector<double> row;
    for (const guide::Measured& m : {guide::measure(dot_written), guide::measure(dot),
                                     guide::measure(additive_written), guide::measure(additive)})
      row.insert(row.end(), {m.milliseconds, m.megabytes});
    guide::print_row(fmt::format("{:>4}{:>18}", S, T * S * D * 4 / (1 << 20)), row, 2);
    difference =
        std::max(difference, (additive().context - additive_written().first).abs().max().item<double>());
  }
  fmt::print("the two additive ways differ by {:.7f} at most\n", difference);
}
