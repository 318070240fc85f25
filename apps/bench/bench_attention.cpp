// Attention ops of gaze against LibTorch's scaled_dot_product_attention, inference, float32, 8 heads of width
// 64 over 4,096 tokens.
#include <fmt/format.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "apps/bench/alternate.h"
#include "modules/ops/attend/attend.h"
#include "modules/ops/linear_attend/linear_attend.h"
#include "modules/ops/window_attend/window_attend.h"

namespace gaze {
namespace {

constexpr int64_t kHeads = 8, kWidth = 64, kSide = 64, kWindow = 7;
constexpr int64_t kTokens = kSide * kSide;
constexpr double kLargestDifference = 1e-4;

struct Tokens {
  at::Tensor q = random(), k = random(), v = random();  // [1, N, T, D]

  static at::Tensor random() { return at::randn({1, kHeads, kTokens, kWidth}); }
};

// [T, S], true where NATTEN's window of query t holds key s: a window that is moved inwards at the borders.
at::Tensor neighborhood_mask() {
  const at::Tensor at_axis = at::arange(kSide);
  const at::Tensor first = (at_axis - kWindow / 2).clamp(0, kSide - kWindow).unsqueeze(1);  // [query, 1]
  const at::Tensor seen = at_axis.ge(first).logical_and(at_axis.lt(first + kWindow));       // [query, key]
  return seen.view({kSide, 1, kSide, 1})
      .logical_and(seen.view({1, kSide, 1, kSide}))
      .reshape({kTokens, kTokens});
}

void compare(const Pair& pair, const Rounds& rounds) {
  std::cout << json_line(pair, alternate(pair, rounds)) << std::endl;
}

void check_near(const at::Tensor& ours, const at::Tensor& theirs, const std::string& name) {
  const double difference = (ours - theirs).abs().max().item<double>();
  if (!(difference <= kLargestDifference))
    throw std::runtime_error(fmt::format("{}: results differ by {}", name, difference));
}

void measure(const Rounds& rounds) {
  const Tokens x;
  const auto dense = [&](const at::Tensor& mask) {
    return at::scaled_dot_product_attention(x.q, x.k, x.v,
                                            mask.defined() ? std::optional(mask) : std::nullopt);
  };
  const at::Tensor mask = neighborhood_mask();
  ops::WindowAttendOptions window;
  window.windows = {ops::Window::neighborhood(kWindow), ops::Window::neighborhood(kWindow)};
  const auto on_map = [](const at::Tensor& tokens) { return tokens.unflatten(2, {kSide, kSide}); };
  const auto windowed = [&] {
    return ops::window_attend(on_map(x.q), on_map(x.k), on_map(x.v), window).output.flatten(2, 3);
  };
  check_near(windowed(), dense(mask), "window_attend");
  compare(
      {"window_attend 7x7 on 64x64", windowed, "LibTorch SDPA, dense with the mask", [&] { dense(mask); }},
      rounds);
  compare({"linear_attend of 4096 tokens", [&] { ops::linear_attend(x.q, x.k, x.v); }, "LibTorch SDPA",
           [&] { dense({}); }},
          rounds);
  ops::AttendOptions with_sums;
  with_sums.key_sums = true;
  check_near(ops::attend(x.q, x.k, x.v).output, dense({}), "attend");
  compare({"attend of 4096 tokens", [&] { ops::attend(x.q, x.k, x.v); }, "LibTorch SDPA", [&] { dense({}); }},
          rounds);
  compare({"attend of 4096 tokens with key sums", [&] { ops::attend(x.q, x.k, x.v, {}, with_sums); },
           "LibTorch SDPA without", [&] { dense({}); }},
          rounds);
}

}  // namespace
}  // namespace gaze

int main(int argc, char** argv) {
  CLI::App app(
      "bench_attention --rounds 15\n\nAttention ops against LibTorch's scaled dot-product attention.");
  gaze::Rounds rounds;
  rounds.warm_ups = 2;
  rounds.measured = 15;
  int threads = 0;
  app.add_option("--rounds", rounds.measured, "measured rounds a pair")->check(CLI::PositiveNumber);
  app.add_option("--warm-ups", rounds.warm_ups, "rounds before them")->check(CLI::NonNegativeNumber);
  app.add_option("--threads", threads, "0: LibTorch's own choice")->check(CLI::NonNegativeNumber);
  app.add_flag("--cpu-time", rounds.cpu_time, "time the process's use of the CPU, not the clock on the wall");
  CLI11_PARSE(app, argc, argv);
  try {
    if (threads > 0) at::set_num_threads(threads);
    const torch::InferenceMode guard;
    torch::manual_seed(0);
    gaze::measure(rounds);
  } catch (const std::exception& error) {
    std::cerr << "bench_attention: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
