// What the rooms of attend say to each other. Users want attend.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>
#include <vector>

#include "modules/ops/attend/attend.h"

namespace gaze::detail {

using AttendForward = std::tuple<at::Tensor, at::Tensor, at::Tensor>;  // output, weights, log_sum_exp
using AttendBackward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  // of q, k, v, mask

// Through the dispatcher; `weights` is an AttendWeights. Unrequested weights are a tensor of no elements, as
// is an unrequested mask gradient. grad_weights has the shape of the weights, whichever were asked for.
AttendForward call_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const std::optional<at::Tensor>& mask, std::optional<double> scale, bool causal,
                          int64_t weights);
AttendBackward call_attend_backward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const std::optional<at::Tensor>& mask, const at::Tensor& log_sum_exp,
                                    const std::optional<at::Tensor>& grad_output,
                                    const std::optional<at::Tensor>& grad_weights,
                                    std::optional<double> scale, bool causal, bool mask_gradient);

// The first line of each backend's kernel. Throws ArgumentError.
void check_attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const std::optional<at::Tensor>& mask, int64_t weights);

// In plain ATen calls, on any device.
AttendForward attend_composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& mask, std::optional<double> scale, bool causal,
                              int64_t weights);
AttendBackward attend_backward_composed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                        const std::optional<at::Tensor>& mask, const at::Tensor& log_sum_exp,
                                        const std::optional<at::Tensor>& grad_output,
                                        const std::optional<at::Tensor>& grad_weights,
                                        std::optional<double> scale, bool causal, bool mask_gradient);

// The shape of the weights that are returned; [0] for none.
std::vector<int64_t> attend_weights_shape(const at::Tensor& q, const at::Tensor& k, int64_t weights);

}  // namespace gaze::detail
