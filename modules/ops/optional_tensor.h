// Optional tensors in the two forms that meet in an op: undefined at the C++ door, std::optional at the
// dispatcher.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace gaze::detail {

inline bool is_given(const std::optional<at::Tensor>& x) {
  return x.has_value() && x->defined();
}

inline std::optional<at::Tensor> given(const at::Tensor& x) {
  return x.defined() ? std::optional(x) : std::nullopt;
}

}  // namespace gaze::detail
