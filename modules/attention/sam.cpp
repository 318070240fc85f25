#include "modules/attention/sam.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include "modules/core/check.h"

namespace gaze {

SamImpl::SamImpl(const SamOptions& options)
    : options_(options), layers_(*this, options, kCard.name), mix_(register_mix(options.init)) {
  check_that(options.channels >= 1, kCard.name, "channels >= 1",
             fmt::format("channels {}", options.channels));
  layers_.reset_parameters(options.init);
}

torch::Tensor SamImpl::forward(const torch::Tensor& x) {
  return gate(x, {});
}

torch::Tensor SamImpl::forward_to_end(const torch::Tensor& x, const torch::Tensor& shortcut) {
  return gate(x, {shortcut, true});
}

torch::Tensor SamImpl::gate(const torch::Tensor& x, const ops::Tail& tail) {
  check_shape(x, "x", {"B", {"C", options_.channels}, "H", "W"}, kCard.name);
  return layers_.gate(x, mix_, tail);
}

std::string SamImpl::spec() const {
  SamOptions now = options_, usual;
  return spec_options(now).write(spec_options(usual));
}

int64_t SamImpl::macs(int64_t height, int64_t width) const {
  return layers_.macs(height, width) + options_.channels * height * width;
}

void SamImpl::pretty_print(std::ostream& stream) const {
  SamOptions now = options_;
  stream << fmt::format("gaze::Sam(channels={}, {})", options_.channels, spec_options(now).values());
}

SpecOptions SamImpl::spec_options(SamOptions& options) {
  SpecOptions list(kCard.name);
  detail::add_spatial_options(list, options);
  list.init(options.init);
  return list;
}

}  // namespace gaze
