#include "modules/attention/nl.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>

#include "modules/core/attention_map.h"
#include "modules/core/check.h"
#include "modules/ops/attend/attend.h"

namespace gaze {
namespace {

NlOptions checked(const NlOptions& options) {
  check_that(options.channels >= 1, "nl", "channels >= 1", fmt::format("channels {}", options.channels));
  check_that(options.reduction >= 1, "nl", "reduction >= 1", fmt::format("reduction {}", options.reduction));
  return options;
}

torch::nn::Conv2d projection(int64_t in, int64_t out) {
  torch::nn::Conv2d convolution(torch::nn::Conv2dOptions(in, out, 1));
  torch::nn::init::xavier_uniform_(convolution->weight);
  torch::nn::init::zeros_(convolution->bias);
  return convolution;
}

// [B, D, h, w] -> [B, 1, h·w, D], one head
torch::Tensor tokens_of(const torch::Tensor& x) {
  return x.flatten(2).transpose(1, 2).unsqueeze(1);
}

}  // namespace

NlImpl::NlImpl(const NlOptions& options) : options_(checked(options)) {
  const int64_t C = options_.channels, D = inner_width();
  theta_ = register_module("theta", projection(C, D));
  phi_ = register_module("phi", projection(C, D));
  g_ = register_module("g", projection(C, D));
  out_ = register_module("out", projection(D, C));
  if (options_.norm) {
    norm_ = register_module("norm", torch::nn::BatchNorm2d(C));
    torch::nn::init::zeros_(norm_->weight);
  } else {
    torch::nn::init::zeros_(out_->weight);
  }
}

int64_t NlImpl::inner_width() const {
  return std::max<int64_t>(1, options_.channels / options_.reduction);
}

torch::Tensor NlImpl::forward(const torch::Tensor& x) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, kCard.name);
  check_like(theta_->weight, "theta.weight", x, "x", kCard.name);
  const torch::Tensor seen =
      options_.pool ? torch::max_pool2d(x, {2, 2}, {2, 2}, {0, 0}, {1, 1}, /*ceil_mode=*/true) : x;
  ops::AttendOptions how;
  if (!options_.scaled) how.scale = 1.0;
  MapRecorder* const recorder = MapRecorder::current();
  if (recorder != nullptr) how.weights = ops::AttendWeights::head_mean;
  const ops::Attended attended =
      ops::attend(tokens_of(theta_(x)), tokens_of(phi_(seen)), tokens_of(g_(seen)), {}, how);
  if (recorder != nullptr) recorder->file("self", AttentionMap::Kind::token, attended.weights);
  const torch::Tensor together =
      attended.output.squeeze(1).transpose(1, 2).reshape({x.size(0), inner_width(), x.size(2), x.size(3)});
  torch::Tensor added = out_(together.contiguous(x.suggest_memory_format()));
  if (options_.norm) added = normed(added);
  return torch::add(x, added).contiguous(x.suggest_memory_format());
}

// One value a channel has no variance of its own: it takes the running one in training, too.
torch::Tensor NlImpl::normed(const torch::Tensor& added) {
  if (added.numel() > options_.channels) return norm_(added);
  return torch::batch_norm(added, norm_->weight, norm_->bias, norm_->running_mean, norm_->running_var,
                           /*training=*/false, 0.0, norm_->options.eps(), /*cudnn_enabled=*/true);
}

std::string NlImpl::spec() const {
  NlOptions now = options_, usual;
  return spec_options(now).write(spec_options(usual));
}

int64_t NlImpl::macs(int64_t height, int64_t width) const {
  const int64_t cells = height * width, D = inner_width();
  const int64_t seen = options_.pool ? (height + 1) / 2 * ((width + 1) / 2) : cells;
  return 2 * cells * options_.channels * D + 2 * seen * options_.channels * D + 2 * cells * seen * D;
}

void NlImpl::pretty_print(std::ostream& stream) const {
  NlOptions now = options_;
  stream << fmt::format("gaze::Nl(channels={}, {})", options_.channels, spec_options(now).values());
}

SpecOptions NlImpl::spec_options(NlOptions& options) {
  SpecOptions list(kCard.name);
  list.integer("reduction", options.reduction, "the inner width is the channels divided by it").always();
  list.boolean("scaled", options.scaled, "whether likeness is divided by the root of the inner width");
  list.boolean("pool", options.pool, "whether keys and values come from a map of half the size");
  list.boolean("norm", options.norm, "whether a batch norm follows the last projection");
  list.init(options.init);
  return list;
}

}  // namespace gaze
