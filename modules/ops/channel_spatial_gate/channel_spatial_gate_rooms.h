// What the rooms of channel_spatial_gate say to each other. Users want channel_spatial_gate.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace gaze::detail {

// output, channel_gate, gate, mean, variance; without a norm the last two have no elements.
using ChannelSpatialGateForward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// Through the dispatcher.
ChannelSpatialGateForward call_channel_spatial_gate(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, bool max_pool, const at::Tensor& weight,
    const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& norm_scale,
    const std::optional<at::Tensor>& norm_shift, const std::optional<at::Tensor>& norm_mean,
    const std::optional<at::Tensor>& norm_variance, double eps, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& residual, bool relu);

// The two ops, one after the other: on any device, with gradients.
ChannelSpatialGateForward channel_spatial_gate_composed(
    const at::Tensor& x, const at::Tensor& w1, const std::optional<at::Tensor>& b1, const at::Tensor& w2,
    const std::optional<at::Tensor>& b2, bool max_pool, const at::Tensor& weight,
    const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& norm_scale,
    const std::optional<at::Tensor>& norm_shift, const std::optional<at::Tensor>& norm_mean,
    const std::optional<at::Tensor>& norm_variance, double eps, const std::optional<at::Tensor>& mix,
    const std::optional<at::Tensor>& residual, bool relu);

}  // namespace gaze::detail
