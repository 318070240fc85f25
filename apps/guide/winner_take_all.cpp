// Softmax makes large differences of weights from small differences of scores, the more so the larger the
// scores are: the winner takes all. A weight near 1 does not say that the other keys hardly fitted.
#include <torch/torch.h>

#include "apps/guide/print.h"
#include "apps/guide/training.h"
#include "modules/ops/attend/attend.h"

namespace {

constexpr int64_t kKeys = 100;

// scores [B, S]. For queries of one number, 1, the scores are the keys times the scale.
gaze::ops::Attended attend_scores(const torch::Tensor& scores, double scale) {
  gaze::ops::AttendOptions options;
  options.scale = scale;
  options.weights = gaze::ops::AttendWeights::per_head;
  options.entropy = true;
  const torch::Tensor k = scores.view({-1, 1, kKeys, 1});                // [B, N = 1, S, D = 1]
  const torch::Tensor q = torch::ones({k.size(0), 1, 1, 1}, k.dtype());  // [B, 1, T = 1, 1]
  return gaze::ops::attend(q, k, k, {}, options);
}

}  // namespace

int main() {
  torch::manual_seed(1);
  fmt::print("The weight of one key of {} that scores higher than the others, which score alike\n", kKeys);
  guide::print_head("scores multiplied by", {"1", "2", "4", "8", "16"});
  for (const double gap : {0.1, 0.5, 1.0, 2.0}) {
    torch::Tensor scores = torch::zeros({1, kKeys}, torch::kDouble);
    scores[0][0] = gap;
    std::vector<double> weights;
    for (const double scale : {1, 2, 4, 8, 16})
      weights.push_back(attend_scores(scores, scale).weights[0][0][0][0].item<double>());
    guide::print_row(fmt::format("higher by {}", gap), weights);
  }

  // Without a favourite: the scores are drawn, and only their size grows, as it does with the width of q and
  // k. Who is first stays first, by the same small part of the scores' spread.
  const torch::Tensor scores = torch::randn({1000, kKeys}, torch::kDouble);  // [B, S]
  const torch::Tensor top = std::get<0>(scores.topk(2, 1));                  // [B, 2]
  fmt::print("\nScores of {} keys, drawn with deviation 1; the first is ahead of the second by {:.2f}\n",
             kKeys, guide::mean_of(top.select(1, 0) - top.select(1, 1)));
  guide::print_head("scores multiplied by", {"0.5", "1", "2", "4", "8", "16"});
  std::vector<double> first, second, bits, enough;
  for (const double scale : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0}) {
    const gaze::ops::Attended attended = attend_scores(scores, scale);
    const torch::Tensor weights = std::get<0>(attended.weights.view({-1, kKeys}).sort(1, true));  // [B, S]
    first.push_back(guide::mean_of(weights.select(1, 0)));
    second.push_back(guide::mean_of(weights.select(1, 1)));
    bits.push_back(guide::mean_of(attended.entropy) / std::log(2));
    enough.push_back(guide::mean_of((weights.cumsum(1) < 0.9).sum(1) + 1));
  }
  guide::print_row("largest weight", first);
  guide::print_row("second largest weight", second);
  guide::print_row("entropy, bits", bits, 2);
  guide::print_row("keys for 0.9 of weight", enough, 1);
}
