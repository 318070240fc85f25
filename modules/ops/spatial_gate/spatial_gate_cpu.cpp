// spatial_gate for the CPU: dense tensors in, the kernel of this machine's instruction set called.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "modules/ops/cpu/torch_runtime.h"
#include "modules/ops/optional_tensor.h"
#include "modules/ops/spatial_gate/spatial_gate_cpu.h"
#include "modules/ops/spatial_gate/spatial_gate_rooms.h"

namespace gaze {
namespace {

using detail::is_given;
using Arguments = detail::SpatialGateArguments;

detail::SpatialGateForward spatial_gate_cpu(
    const at::Tensor& any_x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& residual, bool relu) {
  detail::check_spatial_gate(any_x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, mix,
                             channel_gate, residual);
  Arguments arguments(any_x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix,
                      channel_gate);
  const at::Tensor& x = arguments.x;
  const auto statistics = arguments.weight.options();
  const at::Tensor added = is_given(residual) ? arguments.like_x(*residual) : at::Tensor();
  const at::Tensor output = at::empty(x.sizes(), x.options(), any_x.suggest_memory_format());
  const at::Tensor gate = at::empty({x.size(0), x.size(2), x.size(3)}, statistics);
  detail::SpatialGateCpu& p = arguments.p;
  p.residual = added.defined() ? added.const_data_ptr() : nullptr;
  p.relu = relu;
  p.output = output.mutable_data_ptr();
  p.gate = gate.mutable_data_ptr();
  detail::TorchRuntime runtime;
  GAZE_CPU_PICK(detail::spatial_gate_forward)(p, runtime);
  const auto number_or_none = [&](double value) {
    return p.has_norm ? at::full({1}, value, statistics) : at::empty({0}, statistics);
  };
  return {output, gate, number_or_none(p.mean), number_or_none(p.variance)};
}

detail::SpatialGateBackward spatial_gate_backward_cpu(
    const at::Tensor& any_x, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& norm_scale, const std::optional<at::Tensor>& norm_shift,
    const std::optional<at::Tensor>& norm_mean, const std::optional<at::Tensor>& norm_variance, double eps,
    const std::optional<at::Tensor>& mix, const std::optional<at::Tensor>& channel_gate,
    const std::optional<at::Tensor>& grad_output, const std::optional<at::Tensor>& grad_gate) {
  Arguments arguments(any_x, weight, bias, norm_scale, norm_shift, norm_mean, norm_variance, eps, mix,
                      channel_gate);
  const at::Tensor& x = arguments.x;
  const auto statistics = arguments.weight.options();
  const at::Tensor grad = is_given(grad_output) ? arguments.like_x(*grad_output) : at::Tensor();
  const at::Tensor of_gate = is_given(grad_gate) ? arguments.wide(*grad_gate) : at::Tensor();
  const at::Tensor grad_x = at::empty(x.sizes(), x.options(), any_x.suggest_memory_format());
  const at::Tensor grad_weight = at::empty(weight.sizes(), statistics);
  const at::Tensor none = at::empty({0}, x.options());
  const at::Tensor grad_channel_gate =
      is_given(channel_gate) ? at::empty({x.size(0), x.size(1)}, statistics) : none;
  detail::SpatialGateCpu& p = arguments.p;
  p.grad_output = grad.defined() ? grad.const_data_ptr() : nullptr;
  p.grad_gate = of_gate.defined() ? of_gate.const_data_ptr() : nullptr;
  p.grad_x = grad_x.mutable_data_ptr();
  p.grad_weight = grad_weight.mutable_data_ptr();
  p.grad_channel_gate = p.channel_gate ? grad_channel_gate.mutable_data_ptr() : nullptr;
  detail::TorchRuntime runtime;
  GAZE_CPU_PICK(detail::spatial_gate_backward)(p, runtime);
  const auto single = [&](bool wanted, double value) {
    return wanted ? at::full({1}, value, x.options()) : none;
  };
  return {grad_x,
          grad_weight.to(x.scalar_type()),
          single(is_given(bias), p.grad_bias),
          single(p.has_norm, p.grad_scale),
          single(p.has_norm, p.grad_shift),
          p.has_mix ? at::full({}, p.grad_mix, x.options()) : none,
          grad_channel_gate};
}

}  // namespace

TORCH_LIBRARY_IMPL(gaze, CPU, library) {
  library.impl("spatial_gate", spatial_gate_cpu);
  library.impl("spatial_gate_backward", spatial_gate_backward_cpu);
}

}  // namespace gaze
