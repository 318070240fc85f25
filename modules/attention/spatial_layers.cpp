#include "modules/attention/spatial_layers.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"

namespace gaze::detail {

SpatialLayers::SpatialLayers(torch::nn::Module& owner, const SpatialLayersOptions& options,
                             std::string_view block)
    : order_(options.order) {
  check_that(options.kernel >= 1 && options.kernel % 2 == 1, block, "kernel odd, >= 1",
             fmt::format("kernel {}", options.kernel));
  const auto convolution =
      torch::nn::Conv2dOptions(2, 1, options.kernel).padding(options.kernel / 2).bias(false);
  conv_ = owner.register_module("conv", torch::nn::Conv2d(convolution));
  if (options.norm) {
    const auto norm = torch::nn::BatchNorm2dOptions(1).momentum(0.01);
    bn_ = owner.register_module("bn", torch::nn::BatchNorm2d(norm));
  }
}

torch::Tensor SpatialLayers::gate(const torch::Tensor& x, const torch::Tensor& mix, const ops::Tail& tail) {
  return finish(x, ops::spatial_gate(x, weights(x), mix, tail));
}

torch::Tensor SpatialLayers::gate(const torch::Tensor& x, const torch::Tensor& mix, const ops::Tail& tail,
                                  const ops::SqueezeExciteWeights& channel, ops::Pool pool) {
  const ops::ChannelSpatialGated gated = ops::channel_spatial_gate(x, channel, weights(x), pool, mix, tail);
  if (MapRecorder* const recorder = MapRecorder::current())
    recorder->file("channel", AttentionMap::Kind::channel, gated.channel_gate);
  return finish(x, {gated.output, gated.gate, gated.mean, gated.variance});
}

bool SpatialLayers::batch_statistics(const torch::Tensor& x) const {
  return bn_ && bn_->is_training() && x.size(0) * x.size(2) * x.size(3) > 1;
}

ops::SpatialGateWeights SpatialLayers::weights(const torch::Tensor& x) const {
  ops::SpatialGateWeights weights;
  weights.weight = order_ == PlaneOrder::max_mean ? conv_->weight : conv_->weight.flip(1);  // [1, 2, k, k]
  if (!bn_) return weights;
  weights.norm = {bn_->weight, bn_->bias, {}, {}, bn_->options.eps()};
  if (!batch_statistics(x)) {
    weights.norm.mean = bn_->running_mean;
    weights.norm.variance = bn_->running_var;
  }
  return weights;
}

torch::Tensor SpatialLayers::finish(const torch::Tensor& x, const ops::SpatialGated& gated) {
  if (batch_statistics(x)) {
    const torch::NoGradGuard guard;
    const auto cells = static_cast<double>(gated.gate.numel());
    const double momentum = bn_->options.momentum().value();
    bn_->running_mean.lerp_(gated.mean.to(bn_->running_mean.scalar_type()), momentum);
    bn_->running_var.lerp_((gated.variance * (cells / (cells - 1))).to(bn_->running_var.scalar_type()),
                           momentum);
    bn_->num_batches_tracked.add_(1);
  }
  if (MapRecorder* const recorder = MapRecorder::current())
    recorder->file("spatial", AttentionMap::Kind::spatial, gated.gate);
  return gated.output;
}

void SpatialLayers::reset_parameters(Init init) {
  torch::nn::init::kaiming_normal_(conv_->weight, 0, torch::kFanOut, torch::kReLU);
  if (!bn_) return;
  bn_->reset_parameters();
  if (init == Init::paper) torch::nn::init::zeros_(bn_->weight);
}

int64_t SpatialLayers::macs(int64_t height, int64_t width) const {
  return conv_->weight.numel() * height * width;
}

void add_spatial_options(SpecOptions& list, SpatialLayersOptions& options) {
  list.integer("kernel", options.kernel, "rows and columns of the spatial convolution, odd").always();
  list.boolean("norm", options.norm, "whether a batch norm follows the spatial convolution");
  list.choice("order", options.order, {"max_mean", "mean_max"},
              "which plane of the spatial convolution comes first; mean_max is timm's and luuuyi's");
}

}  // namespace gaze::detail
