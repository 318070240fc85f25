#include "modules/attention/cbam.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/check.h"

namespace gaze {

CbamImpl::CbamImpl(const CbamOptions& options)
    : options_(options),
      channel_(part("channel"), options, kCard.name),
      spatial_(part("spatial"), options, kCard.name),
      mix_(register_mix(options.init)) {
  options_.hidden = channel_.hidden();
  channel_.zero_biases();
  spatial_.reset_parameters(options.init);
}

// A child that only gives its layers their names.
torch::nn::Module& CbamImpl::part(const char* name) {
  return *register_module(name, std::make_shared<torch::nn::Module>(fmt::format("gaze::Cbam {}", name)));
}

torch::Tensor CbamImpl::forward(const torch::Tensor& x) {
  return gate(x, {});
}

torch::Tensor CbamImpl::forward_to_end(const torch::Tensor& x, const torch::Tensor& shortcut) {
  return gate(x, {shortcut, true});
}

torch::Tensor CbamImpl::gate(const torch::Tensor& x, const ops::Tail& tail) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, kCard.name);
  return spatial_.gate(x, mix_, tail, channel_.weights(), ops::Pool::avg_max);
}

std::string CbamImpl::spec() const {
  CbamOptions now = options_, usual;
  detail::leave_out_usual_width(now);
  return spec_options(now).write(spec_options(usual));
}

int64_t CbamImpl::macs(int64_t height, int64_t width) const {
  return 2 * channel_.macs() + spatial_.macs(height, width) + 2 * options_.channels * height * width;
}

void CbamImpl::pretty_print(std::ostream& stream) const {
  CbamOptions now = options_;
  stream << fmt::format("gaze::Cbam(channels={}, {})", options_.channels, spec_options(now).values());
}

SpecOptions CbamImpl::spec_options(CbamOptions& options) {
  SpecOptions list(kCard.name);
  detail::add_channel_options(list, options);
  detail::add_spatial_options(list, options);
  list.init(options.init);
  return list;
}

}  // namespace gaze
