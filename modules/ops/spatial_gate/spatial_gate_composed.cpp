// spatial_gate in plain ATen calls: runs on every device that has no kernel of its own, and is what an
// exporter sees.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/optional_tensor.h"
#include "modules/ops/spatial_gate/spatial_gate_rooms.h"
#include "modules/ops/statistics.h"

namespace gaze {
namespace {

using detail::is_given;

// Everything between x and the output, in the statistics dtype.
struct Gate {
  at::Tensor u;              // [B, C, H, W], x · channel gate
  at::Tensor planes;         // [B, 2, H, W], maximum and mean over C
  at::Tensor normed;         // [B, 1, H, W], (a - mean) / √(variance + eps); a itself without a norm
  at::Tensor mean;           // [1], no elements without a norm
  at::Tensor variance;       // [1]
  at::Tensor inverse_sigma;  // [1], 1 / √(variance + eps)
  at::Tensor g;              // [B, 1, H, W], the sigmoid
  at::Tensor factor;         // [B, 1, H, W], what u is multiplied with
};

at::Tensor per_channel(const at::Tensor& gate) {
  return gate.unsqueeze(2).unsqueeze(3);
}  // [B, C, 1, 1]

Gate compute_gate(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                  const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
                  const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance,
                  double eps, const std::optional<at::Tensor>& mix,
                  const std::optional<at::Tensor>& channel_gate) {
  const at::ScalarType dtype = detail::statistics_dtype(x.scalar_type());
  const auto wide = [dtype](const std::optional<at::Tensor>& value) { return value->to(dtype); };
  Gate gate;
  gate.u = x.to(dtype);
  if (is_given(channel_gate)) gate.u = gate.u * per_channel(*channel_gate);
  gate.planes = at::cat({gate.u.amax({1}, true), gate.u.mean({1}, true)}, 1);  // [B, 2, H, W]
  const std::optional<at::Tensor> wide_bias = is_given(bias) ? std::optional(wide(bias)) : std::nullopt;
  const int64_t padding = weight.size(2) / 2;
  const at::Tensor activation =
      at::conv2d(gate.planes, weight.to(dtype), wide_bias, 1, padding);  // [B, 1, H, W]
  at::Tensor logits = activation;
  gate.normed = activation;
  gate.mean = gate.variance = at::empty({0}, activation.options());
  if (is_given(norm_scale)) {
    gate.mean = is_given(norm_mean) ? wide(norm_mean).clone() : activation.mean().reshape({1});
    gate.variance = is_given(norm_mean) ? wide(norm_variance).clone()
                                        : (activation - gate.mean).square().mean().reshape({1});
    gate.inverse_sigma = (gate.variance + eps).rsqrt();
    gate.normed = (activation - gate.mean) * gate.inverse_sigma;
    logits = gate.normed * wide(norm_scale) + wide(norm_shift);
  }
  gate.g = logits.sigmoid();
  gate.factor = is_given(mix) ? (gate.g - 1).mul_(wide(mix)).add_(1) : gate.g;
  return gate;
}

at::Tensor no_gradient(const at::Tensor& x) {
  return at::empty({0}, x.options());
}

}  // namespace

namespace detail {

SpatialGateForward spatial_gate_composed(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& residual, bool relu) {
  check_spatial_gate(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, mix, channel_gate,
                     residual);
  const Gate gate =
      compute_gate(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix, channel_gate);
  at::Tensor output = gate.u * gate.factor;  // [B, C, H, W]
  if (is_given(residual)) output.add_(residual->to(output.scalar_type()));
  if (relu) output.relu_();
  return {output.to(x.scalar_type()).contiguous(x.suggest_memory_format()), gate.factor.squeeze(1), gate.mean,
          gate.variance};
}

SpatialGateBackward spatial_gate_backward_composed(
    const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate) {
  const at::ScalarType dtype = detail::statistics_dtype(x.scalar_type()), out = x.scalar_type();
  const Gate gate =
      compute_gate(x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix, channel_gate);

  at::Tensor grad_factor,
      grad_u;  // of the gate as u was multiplied with it, [B, 1, H, W]; and so far, [B, C, H, W]
  if (is_given(grad_output)) {
    const at::Tensor wide_grad = grad_output->to(dtype);
    grad_factor = (wide_grad * gate.u).sum({1}, true);
    grad_u = wide_grad * gate.factor;
  } else {
    grad_factor = at::zeros_like(gate.factor);
    grad_u = at::zeros(x.sizes(), gate.u.options());
  }
  if (is_given(grad_gate)) grad_factor = grad_factor + grad_gate->to(dtype).unsqueeze(1);
  at::Tensor grad_mix = no_gradient(x);
  at::Tensor grad_g = grad_factor;
  if (is_given(mix)) {
    grad_mix = (grad_factor * (gate.g - 1)).sum().to(out);
    grad_g = grad_factor * mix->to(dtype);
  }
  at::Tensor grad_activation = grad_g * gate.g * (1 - gate.g);  // [B, 1, H, W], of the logits so far
  at::Tensor grad_scale = no_gradient(x), grad_shift = no_gradient(x);
  if (is_given(norm_scale)) {
    const at::Tensor grad_logits = grad_activation;
    grad_scale = (grad_logits * gate.normed).sum().reshape({1}).to(out);
    grad_shift = grad_logits.sum().reshape({1}).to(out);
    // The batch's mean and variance move with each of its cells.
    const at::Tensor centred = is_given(norm_mean) ? grad_logits
                                                   : grad_logits - grad_logits.mean() -
                                                         gate.normed * (grad_logits * gate.normed).mean();
    grad_activation = centred * norm_scale->to(dtype) * gate.inverse_sigma;
  }

  const at::Tensor grad_bias = is_given(bias) ? grad_activation.sum().reshape({1}).to(out) : no_gradient(x);
  const int64_t padding = weight.size(2) / 2;
  const auto [grad_planes, grad_weight, unused] =
      at::convolution_backward(grad_activation, gate.planes, weight.to(dtype), std::nullopt, {1, 1},
                               {padding, padding}, {1, 1}, false, {0, 0}, 1, {true, true, false});
  const at::Tensor first_largest = std::get<1>(gate.u.max(1, true));  // [B, 1, H, W]
  grad_u.add_(grad_planes.narrow(1, 1, 1) / static_cast<double>(x.size(1)));
  grad_u.scatter_add_(1, first_largest, grad_planes.narrow(1, 0, 1));
  at::Tensor grad_x = grad_u, grad_channel_gate = no_gradient(x);
  if (is_given(channel_gate)) {
    grad_x = grad_u * per_channel(*channel_gate);
    grad_channel_gate = (grad_u * x.to(dtype)).sum({2, 3});
  }
  return {grad_x.to(out).contiguous(x.suggest_memory_format()),
          grad_weight.to(out),
          grad_bias,
          grad_scale,
          grad_shift,
          grad_mix,
          grad_channel_gate};
}

}  // namespace detail

TORCH_LIBRARY_IMPL(gaze, CompositeExplicitAutograd, library) {
  library.impl("spatial_gate", detail::spatial_gate_composed);
  library.impl("spatial_gate_backward", detail::spatial_gate_backward_composed);
}

}  // namespace gaze
