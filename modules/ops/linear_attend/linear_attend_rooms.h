// What the rooms of linear_attend say to each other. Users want linear_attend.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace gaze::detail {

using LinearAttendBackward = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  // of q, k, v

// Through the dispatcher; `map` is a LinearAttendMap of linear_attend_math.h.
at::Tensor call_linear_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& mask, int64_t map, bool causal);
LinearAttendBackward call_linear_attend_backward(const at::Tensor& q, const at::Tensor& k,
                                                 const at::Tensor& v, const std::optional<at::Tensor>& mask,
                                                 const at::Tensor& grad_output, int64_t map, bool causal);

// In plain ATen calls, on any device.
at::Tensor linear_attend_composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  const std::optional<at::Tensor>& mask, int64_t map, bool causal);
LinearAttendBackward linear_attend_backward_composed(const at::Tensor& q, const at::Tensor& k,
                                                     const at::Tensor& v,
                                                     const std::optional<at::Tensor>& mask,
                                                     const at::Tensor& grad_output, int64_t map, bool causal);

// The first line of each backend's kernel. Throws ArgumentError.
void check_linear_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::optional<at::Tensor>& mask, int64_t map);

}  // namespace gaze::detail
