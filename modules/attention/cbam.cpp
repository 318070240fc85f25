#include "modules/attention/cbam.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/attention/channel_layers.h"
#include "modules/core/attention_map.h"
#include "modules/core/check.h"
#include "modules/ops/spatial_gate/spatial_gate.h"

namespace gaze {

CbamImpl::CbamImpl(const CbamOptions& options) : options_(options) {
  options_.hidden = detail::hidden_width(options.channels, options.reduction, options.hidden, "cbam");
  check_that(options.kernel >= 1 && options.kernel % 2 == 1, "cbam", "kernel odd, >= 1",
             fmt::format("kernel {}", options.kernel));
  const auto channel = register_module("channel", std::make_shared<torch::nn::Module>("gaze::CbamChannel"));
  fc1_ = channel->register_module("fc1", detail::pointwise(options.channels, options_.hidden, options.bias));
  fc2_ = channel->register_module("fc2", detail::pointwise(options_.hidden, options.channels, options.bias));
  const auto spatial = register_module("spatial", std::make_shared<torch::nn::Module>("gaze::CbamSpatial"));
  const auto convolution =
      torch::nn::Conv2dOptions(2, 1, options.kernel).padding(options.kernel / 2).bias(false);
  conv_ = spatial->register_module("conv", torch::nn::Conv2d(convolution));
  if (options.norm) {
    bn_ = spatial->register_module("bn",
                                   torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(1).momentum(0.01)));
  }
  if (options.init == Init::identity) mix_ = register_parameter("mix", torch::zeros({}));
  reset_parameters();
}

void CbamImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  fc1_->reset_parameters();
  fc2_->reset_parameters();
  if (options_.bias) {
    torch::nn::init::zeros_(fc1_->bias);
    torch::nn::init::zeros_(fc2_->bias);
  }
  torch::nn::init::kaiming_normal_(conv_->weight, 0, torch::kFanOut, torch::kReLU);
  if (options_.norm) {
    bn_->reset_parameters();
    if (options_.init == Init::paper) torch::nn::init::zeros_(bn_->weight);
  }
  if (mix_.defined()) mix_.zero_();
}

torch::Tensor CbamImpl::forward(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, "cbam");
  const auto [channels_gated, gate] =
      ops::squeeze_excite(x, detail::channel_weights(fc1_, fc2_), ops::Pool::avg_max, mix_);
  if (MapRecorder* const recorder = MapRecorder::current())
    recorder->file("channel", AttentionMap::Kind::channel, gate);
  return gate_cells(channels_gated);
}

torch::Tensor CbamImpl::gate_cells(const torch::Tensor& x) {
  ops::SpatialGateWeights weights{conv_->weight, {}, {}};
  const int64_t cells = x.size(0) * x.size(2) * x.size(3);
  const bool batch_statistics = options_.norm && is_training() && cells > 1;
  if (options_.norm) {
    weights.norm = {bn_->weight, bn_->bias, {}, {}, bn_->options.eps()};
    if (!batch_statistics) {
      weights.norm.mean = bn_->running_mean;
      weights.norm.variance = bn_->running_var;
    }
  }
  const ops::SpatialGated gated = ops::spatial_gate(x, weights, mix_);
  if (batch_statistics) {
    const torch::NoGradGuard guard;
    const double momentum = bn_->options.momentum().value();
    const double unbiased = static_cast<double>(cells) / static_cast<double>(cells - 1);
    bn_->running_mean.lerp_(gated.mean.to(bn_->running_mean.scalar_type()), momentum);
    bn_->running_var.lerp_((gated.variance * unbiased).to(bn_->running_var.scalar_type()), momentum);
    bn_->num_batches_tracked.add_(1);
  }
  if (MapRecorder* const recorder = MapRecorder::current()) {
    recorder->file("spatial", AttentionMap::Kind::spatial, gated.gate);
  }
  return gated.output;
}

std::string CbamImpl::spec() const {
  const bool usual =
      options_.hidden == detail::hidden_width(options_.channels, options_.reduction, 0, "cbam");
  return fmt::format("cbam(reduction={}{}, kernel={}{}{}{})", options_.reduction,
                     usual ? "" : fmt::format(", hidden={}", options_.hidden), options_.kernel,
                     options_.bias ? "" : ", bias=false", options_.norm ? "" : ", norm=false",
                     options_.init == Init::identity ? ", init=identity" : "");
}

int64_t CbamImpl::macs(int64_t height, int64_t width) const {
  const int64_t layers = 4 * options_.channels * options_.hidden;  // two, for the mean and for the maximum
  const int64_t convolution = 2 * options_.kernel * options_.kernel * height * width;
  return layers + convolution + 2 * options_.channels * height * width;
}

void CbamImpl::pretty_print(std::ostream& stream) const {
  stream << fmt::format("gaze::Cbam(channels={}, hidden={}, kernel={}, bias={}, norm={}, init={})",
                        options_.channels, options_.hidden, options_.kernel, options_.bias, options_.norm,
                        options_.init == Init::identity ? "identity" : "paper");
}

std::shared_ptr<AttentionBlock> CbamImpl::from_spec(SpecReader& reader, const SlotPlace& place, Init init) {
  CbamOptions options;
  options.channels = place.channels;
  options.reduction = reader.integer("reduction", options.reduction);
  options.hidden = reader.integer("hidden", options.hidden);
  options.kernel = reader.integer("kernel", options.kernel);
  options.bias = reader.boolean("bias", options.bias);
  options.norm = reader.boolean("norm", options.norm);
  options.init = init;
  reader.finish();
  return std::make_shared<CbamImpl>(options);
}

}  // namespace gaze
