// What length costs. Every word looks at every word: n words have n * n scores, and twice the words cost four
// times the time and, written as it stands, four times the memory. Tiles take as many steps but keep no
// matrix, and the result is the same. Windows and linear attention save both, and compute something else.
#include <torch/torch.h>

#include <functional>

#include "apps/guide/measure.h"
#include "apps/guide/print.h"
#include "modules/ops/linear_attend/linear_attend.h"
#include "modules/ops/window_attend/window_attend.h"

using torch::Tensor;

struct Way {
  const char* name;
  int64_t longest;                           // beyond it takes too long for an example, or too much memory
  std::function<Tensor(const Tensor&)> run;  // x [3, B, N, n, D] is q, k and v -> [B, N, n, D]
};

int main() {
  torch::manual_seed(1);
  torch::set_num_threads(1);
  const torch::NoGradGuard no_gradients;
  constexpr int64_t kWidth = 64;
  gaze::ops::WindowAttendOptions near;
  near.windows = {gaze::ops::Window::local(64)};  // a word and 64 on either side
  const auto written = [](const Tensor& x) {
    const Tensor scores = x[0].matmul(x[1].transpose(-2, -1)).div_(std::sqrt(kWidth));  // [B, N, n, n]
    return scores.softmax(-1).matmul(x[2]);                                             // [B, N, n, D]
  };
  const Way ways[] = {
      {"as written", 4096, written},
      {"tiles", 8192, [](const Tensor& x) { return gaze::ops::attend(x[0], x[1], x[2]).output; }},
      {"window", 32768, [&](const Tensor& x) { return window_attend(x[0], x[1], x[2], near).output; }},
      {"linear", 32768, [](const Tensor& x) { return gaze::ops::linear_attend(x[0], x[1], x[2]); }}};

  fmt::print("One head of width {}. MB: the most memory at once, output included.\n", kWidth);
  fmt::print("{:>7}{:>12}{:>9}", "n", "n * n", "MB");
  for (const Way& way : ways) fmt::print("{:>11}, ms{:>7}", way.name, "MB");
  for (int64_t n = 1024; n <= 32768; n *= 2) {
    fmt::print("\n{:>7}{:>12}{:>9}", n, n * n, n * n * 4 / (1 << 20));
    const Tensor x = torch::randn({3, 1, 1, n, kWidth});
    for (const Way& way : ways) {
      const bool fits = n <= way.longest;
      const guide::Measured measured = fits ? guide::measure([&] { return way.run(x); }) : guide::Measured{};
      fmt::print("{:>15}{:>7}", fits ? guide::number_text(measured.milliseconds, 1) : "-",
                 fits ? guide::number_text(measured.megabytes, 1) : "-");
    }
  }

  const Tensor x = torch::randn({3, 1, 1, 2048, kWidth}), exact = written(x.to(torch::kDouble));
  fmt::print("\n\nFarthest from all pairs in float64, n = 2048:");
  for (const Way& way : ways)
    fmt::print("\n{:<12}{:.7f}", way.name, (way.run(x) - exact).abs().max().item<double>());
  fmt::print("\nthe largest of all {:.2f}\n", exact.abs().max().item<double>());
}
