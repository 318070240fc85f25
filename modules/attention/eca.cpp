#include "modules/attention/eca.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

int64_t kernel_for(int64_t channels) {
  int64_t log2 = 0;
  while (channels >> (log2 + 1) > 0) ++log2;
  return std::max<int64_t>(3, ((log2 + 1) / 2) | 1);
}

EcaOptions checked(EcaOptions options) {
  check_that(options.channels >= 1, "eca", "channels >= 1", fmt::format("channels {}", options.channels));
  check_that(options.kernel >= 0 && (options.kernel == 0 || options.kernel % 2 == 1), "eca",
             "kernel odd, or 0 for one from the channels", fmt::format("kernel {}", options.kernel));
  if (options.kernel == 0) options.kernel = kernel_for(options.channels);
  return options;
}

}  // namespace

EcaImpl::EcaImpl(const EcaOptions& options) : options_(checked(options)), mix_(register_mix(options.init)) {
  const auto convolution =
      torch::nn::Conv1dOptions(1, 1, options_.kernel).padding(options_.kernel / 2).bias(false);
  conv_ = register_module("conv", torch::nn::Conv1d(convolution));
}

torch::Tensor EcaImpl::forward(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, kCard.name);
  check_like(conv_->weight, "conv.weight", x, "x", kCard.name);
  const auto dtype = detail::statistics_dtype(x.scalar_type());
  const torch::Tensor means = x.mean({2, 3}, /*keepdim=*/false, dtype);  // [B, C]
  torch::Tensor gate = torch::conv1d(means.unsqueeze(1), conv_->weight.to(dtype), {}, 1, options_.kernel / 2)
                           .squeeze(1)
                           .sigmoid();  // [B, C]
  if (mix_.defined()) gate = 1 + mix_.to(dtype) * (gate - 1);
  if (MapRecorder* const recorder = MapRecorder::current())
    recorder->file("channel", AttentionMap::Kind::channel, gate);
  return (x * gate.unsqueeze(2).unsqueeze(3)).to(x.scalar_type()).contiguous(x.suggest_memory_format());
}

std::string EcaImpl::spec() const {
  EcaOptions now = options_, usual;
  return spec_options(now).write(spec_options(usual));
}

int64_t EcaImpl::macs(int64_t height, int64_t width) const {
  return options_.channels * (options_.kernel + height * width);
}

void EcaImpl::pretty_print(std::ostream& stream) const {
  EcaOptions now = options_;
  stream << fmt::format("gaze::Eca(channels={}, {})", options_.channels, spec_options(now).values());
}

SpecOptions EcaImpl::spec_options(EcaOptions& options) {
  SpecOptions list(kCard.name);
  list.integer("kernel", options.kernel,
               "channels a gate is computed from, odd; 0 takes it from their number")
      .always();
  list.init(options.init);
  return list;
}

}  // namespace gaze
