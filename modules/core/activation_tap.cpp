#include "modules/core/activation_tap.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "modules/core/check.h"

namespace gaze {

ActivationTap*& ActivationTap::current() {
  thread_local ActivationTap* tap = nullptr;
  return tap;
}

ActivationTap::ActivationTap(std::vector<std::string> wanted)
    : wanted_(std::move(wanted)), values_(wanted_.size()), outer_(std::exchange(current(), this)) {}

ActivationTap::~ActivationTap() {
  current() = outer_;
}

at::Tensor ActivationTap::seen(const std::string& name, const at::Tensor& x) {
  places_.push_back({name, x.sizes().vec()});
  const auto found = std::find(wanted_.begin(), wanted_.end(), name);
  if (found == wanted_.end()) return x;
  const at::Tensor kept = x.requires_grad() ? x : x.detach().requires_grad_();
  values_[static_cast<size_t>(found - wanted_.begin())] = kept;
  return kept.clone();  // so that nothing behind it writes over what is kept
}

const at::Tensor& ActivationTap::value(const std::string& name) const {
  const auto found = std::find(wanted_.begin(), wanted_.end(), name);
  check_that(found != wanted_.end(), "tap", "a place that is wanted", name);
  const at::Tensor& value = values_[static_cast<size_t>(found - wanted_.begin())];
  if (value.defined()) return value;
  std::vector<std::string> names;
  for (const TappedPlace& place : places_) names.push_back(place.name);
  fail_unknown("explain", "layer", name, names);
}

}  // namespace gaze
