// What the rooms of spatial_gate say to each other. Users want spatial_gate.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace gaze::detail {

using SpatialGateForward =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;  // output, gate, mean, variance
// Of x, weight, bias, norm_scale, norm_shift, mix, channel_gate; no elements where the argument was not
// given.
using SpatialGateBackward =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Through the dispatcher. Without a norm, mean and variance have no elements.
SpatialGateForward call_spatial_gate(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& residual, bool relu);
// grad_output is that of u · gate: the Autograd room has taken it through the tail.
SpatialGateBackward call_spatial_gate_backward(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate);

// In plain ATen calls, on any device.
SpatialGateForward spatial_gate_composed(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& residual, bool relu);
SpatialGateBackward spatial_gate_backward_composed(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate);

// The first line of each backend's kernel. Throws ArgumentError.
void check_spatial_gate(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                        const std::optional<at::Tensor>& norm_scale,
                        const std::optional<at::Tensor>& norm_shift,
                        const std::optional<at::Tensor>& norm_mean,
                        const std::optional<at::Tensor>& norm_variance, const std::optional<at::Tensor>& mix,
                        const std::optional<at::Tensor>& channel_gate,
                        const std::optional<at::Tensor>& residual);

}  // namespace gaze::detail
