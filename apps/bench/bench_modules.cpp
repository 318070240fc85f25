// SE and CBAM at the end of a residual block, inference, channels-last float32, at the shapes of ResNet-50's
// stages: our ops against the same formula in LibTorch's own calls.
#include <fmt/format.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "apps/bench/alternate.h"
#include "modules/ops/channel_spatial_gate/channel_spatial_gate.h"
#include "modules/ops/squeeze_excite/squeeze_excite.h"

namespace gaze {
namespace {

constexpr int64_t kReduction = 16;
constexpr double kLargestDifference = 1e-4;

struct Stage {
  int64_t channels, side;
};
constexpr Stage kStages[] = {{256, 56}, {512, 28}, {1024, 14}, {2048, 7}};

// One block's input, shortcut and weights.
struct Work {
  at::Tensor x, shortcut;
  ops::SqueezeExciteWeights channel;
  ops::SpatialGateWeights spatial;

  Work(const Stage& stage, int64_t batch) {
    const int64_t C = stage.channels, R = C / kReduction;
    const auto map = [&] {
      return at::randn({batch, C, stage.side, stage.side}).contiguous(at::MemoryFormat::ChannelsLast);
    };
    x = map();
    shortcut = map();
    channel = {at::randn({R, C}) / std::sqrt(C), at::randn({R}), at::randn({C, R}) / std::sqrt(R),
               at::randn({C})};
    spatial.weight = at::randn({1, 2, 7, 7}) / 7;
    spatial.norm = {at::full({1}, 1.2F), at::full({1}, 0.1F), at::full({1}, 0.3F), at::full({1}, 0.8F)};
  }
};

at::Tensor se(const Work& work) {
  return ops::squeeze_excite(work.x, work.channel, ops::Pool::avg, {}, {work.shortcut, true}).output;
}

at::Tensor cbam(const Work& work) {
  return ops::channel_spatial_gate(work.x, work.channel, work.spatial, ops::Pool::avg_max, {},
                                   {work.shortcut, true})
      .output;
}

at::Tensor layers(const at::Tensor& squeezed, const ops::SqueezeExciteWeights& weights) {
  return at::linear(at::linear(squeezed, weights.w1, weights.b1).relu_(), weights.w2, weights.b2);  // [B, C]
}

at::Tensor eager_se(const Work& work) {
  const at::Tensor gate = layers(work.x.mean({2, 3}), work.channel).sigmoid_();  // [B, C]
  return at::mul(work.x, gate.unsqueeze(2).unsqueeze(3)).add_(work.shortcut).relu_();
}

at::Tensor eager_cbam(const Work& work) {
  const at::Tensor gate = layers(work.x.mean({2, 3}), work.channel)
                              .add_(layers(work.x.amax({2, 3}), work.channel))
                              .sigmoid_();                                       // [B, C]
  at::Tensor u = at::mul(work.x, gate.unsqueeze(2).unsqueeze(3));                // [B, C, H, W]
  const at::Tensor planes = at::cat({u.amax({1}, true), u.mean({1}, true)}, 1);  // [B, 2, H, W]
  const ops::SpatialNorm& norm = work.spatial.norm;
  const at::Tensor logits =
      at::batch_norm(at::conv2d(planes, work.spatial.weight, {}, 1, 3), norm.scale, norm.shift, norm.mean,
                     norm.variance, false, 0.01, norm.eps, false);
  return u.mul_(logits.sigmoid()).add_(work.shortcut).relu_();
}

using Block = at::Tensor (*)(const Work&);

void measure(const std::string& name, Block ours, Block eager, int64_t batch, const Rounds& rounds) {
  std::vector<Timing> timings;
  for (const Stage& stage : kStages) {
    const Work work(stage, batch);
    const double difference = (ours(work) - eager(work)).abs().max().item<double>();
    if (!(difference <= kLargestDifference))
      throw std::runtime_error(fmt::format("{}: results differ by {}", name, difference));
    const Pair pair{fmt::format("{} {}x{}x{}x{}", name, batch, stage.channels, stage.side, stage.side),
                    [&] { ours(work); }, "LibTorch eager", [&] { eager(work); }};
    timings.push_back(alternate(pair, rounds));
    std::cout << json_line(pair, timings.back()) << std::endl;
  }
  std::cout << json_mean(name + " geometric mean", timings) << std::endl;
}

}  // namespace
}  // namespace gaze

int main(int argc, char** argv) {
  CLI::App app(
      "bench_modules --rounds 40\n\nSE and CBAM with residual and ReLU against LibTorch's own calls.");
  gaze::Rounds rounds;
  int64_t batch = 8;
  int threads = 0;
  app.add_option("--rounds", rounds.measured, "measured rounds a pair")->check(CLI::PositiveNumber);
  app.add_option("--warm-ups", rounds.warm_ups, "rounds before them")->check(CLI::NonNegativeNumber);
  app.add_option("--batch", batch, "pictures")->check(CLI::PositiveNumber);
  app.add_option("--threads", threads, "0: LibTorch's own choice")->check(CLI::NonNegativeNumber);
  app.add_flag("--cpu-time", rounds.cpu_time, "time the process's use of the CPU, not the clock on the wall");
  CLI11_PARSE(app, argc, argv);
  try {
    if (threads > 0) at::set_num_threads(threads);
    const torch::InferenceMode guard;
    torch::manual_seed(0);
    gaze::measure("se + residual + relu", gaze::se, gaze::eager_se, batch, rounds);
    gaze::measure("cbam + residual + relu", gaze::cbam, gaze::eager_cbam, batch, rounds);
  } catch (const std::exception& error) {
    std::cerr << "bench_modules: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
